//! Recordings of worlds: what schedulers were told leads to what they did, whatever went wrong.

use std::sync::Arc;

use decisions::lanes::OneLane;
use scheduling::recording::{Difference, Line, Replay, ReplayTally, SavedObjects, Scribe, StartSettings};
use simulator::world::{Recorded, play, record, record_bargain};

/// How many decisions of each kind of world are replayed. The command `simulator --record FILE` records as many as are wanted.
const DECISIONS: u64 = 1_000;

/// Writes the lines of a scheduler as they are saved, and replays what was read of that.
fn replay(recorded: &[Line], tally: &mut ReplayTally) -> String {
    let (mut scribe, mut replay) = (Scribe::default(), Replay::new(Arc::new(OneLane)));
    let mut text = String::new();
    for line in recorded {
        let mut bytes = Vec::new();
        scribe.write(line.clone(), &mut bytes);
        let line = Line::read(&bytes).expect("what was written can be read");
        let differences = replay.take(&line).expect("what was written means something");
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(2_000)]);
        assert!(differences.is_empty(), "{differences:#?}\nafter {:?}\n{shown}", replay.tally());
        text.push_str(std::str::from_utf8(&bytes).expect("JSON is text"));
    }
    let its = replay.tally();
    tally.engines += its.engines;
    tally.inputs += its.inputs;
    tally.decisions += its.decisions;
    tally.same += its.same;
    tally.left_out += its.left_out;
    text
}

/// Records worlds until there are so many decisions, and replays them.
fn all_is_the_same_again(record: fn(u64) -> Recorded) {
    let mut tally = ReplayTally::default();
    let (mut schedulers, mut leads, mut considered) = (0, 0, 0);
    let mut seeds = 0..;
    while tally.decisions < DECISIONS {
        let seed = seeds.next().expect("seeds do not end");
        let Recorded { report, schedulers: recorded } = record(seed);
        assert!(report.violations.is_empty(), "seed {seed}: {:?}", report.violations);
        for lines in &recorded {
            schedulers += 1;
            leads += lines.iter().filter(|line| matches!(line, Line::Stands { .. })).count();
            considered += replay(lines, &mut tally).matches("\"considered\"").count();
        }
    }
    assert_eq!((tally.same, tally.left_out), (tally.decisions, 0), "{tally:?}");
    assert!(tally.engines > schedulers + 3, "schedulers are killed: {tally:?}, {schedulers} schedulers");
    assert!(leads > 0, "others lead: {leads}");
    assert!(considered > 20, "some decisions are considered: {considered}");
}

#[test]
fn a_thousand_decisions_with_kills_and_changes_of_the_leader_are_the_same_again() {
    all_is_the_same_again(record);
}

#[test]
fn a_thousand_decisions_with_drivers_that_give_devices_are_the_same_again() {
    all_is_the_same_again(record_bargain);
}

/// Lines as they are read again.
fn read_again(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let again = |line: Line| {
        let mut bytes = Vec::new();
        line.write(&mut bytes);
        Line::read(&bytes).expect("what was written can be read")
    };
    lines.map(again).collect()
}

fn replayed(lines: &[Line]) -> (ReplayTally, Vec<Difference>) {
    let mut replay = Replay::new(Arc::new(OneLane));
    let differences = lines.iter().flat_map(|line| replay.take(line).expect("it means something")).collect();
    (replay.tally(), differences)
}

fn saved(lines: &[Line]) -> Vec<String> {
    let mut saved = SavedObjects::default();
    lines.iter().for_each(|line| saved.take(line).expect("objects have names"));
    saved.objects().map(|object| format!("{object:?}")).collect()
}

#[test]
fn a_file_in_the_middle_has_all_objects_and_is_replayed_after_those_before_it() {
    for seed in [3, 7] {
        let lines = read_again(record(seed).schedulers.remove(0).into_iter());
        let (first, second) = lines.split_at(lines.len() / 2);
        let (mut scribe, mut bytes) = (Scribe::default(), Vec::new());
        first.iter().for_each(|line| scribe.write(line.clone(), &mut bytes));
        let opened: Vec<Line> = scribe.opening().chain(second.iter().cloned()).collect();
        let opened = read_again(opened.into_iter());
        assert_eq!(saved(&opened), saved(&lines), "seed {seed}");
        let (whole, _) = replayed(&lines);
        let (both, _) = replayed(&[first, &opened].concat());
        assert_eq!(both, whole, "seed {seed}: as if it were one file");
        let (alone, differences) = replayed(&opened);
        let before = replayed(first).0.decisions;
        let starts_again = second.iter().filter(|line| matches!(line, Line::Start(_))).count() as u64;
        assert_eq!((alone.engines, differences.len()), (starts_again, 0), "seed {seed}");
        assert_eq!(alone.decisions + alone.left_out + before, whole.decisions, "seed {seed}");
        assert!(alone.left_out > 0, "seed {seed}: the engine of the first lines was begun before: {alone:?}");
        // A line is missing between the files.
        let (gap, differences) = replayed(&[&first[..first.len() - 1], &opened].concat());
        assert!(differences.is_empty() && gap.left_out == alone.left_out, "seed {seed}: {gap:?}");
    }
}

#[test]
fn an_engine_that_decides_otherwise_goes_on_with_what_was_recorded() {
    let mut found = 0;
    for seed in 0..30 {
        for mut lines in record(seed).schedulers {
            for line in &mut lines {
                if let Line::Start(start) = line {
                    // It finds fewer devices, and no verdict is as it was.
                    start.settings = StartSettings::Plain {
                        profile: "supercargo-scheduler".to_owned(),
                        search_steps_max: 1,
                    };
                    start.gates.retain(|gate| gate != "DRAPartitionableDevices" && gate != "GangScheduling");
                }
            }
            let (tally, differences) = replayed(&lines);
            assert_eq!(tally.differences, differences.len() as u64);
            assert!(tally.same <= tally.decisions && tally.left_out == 0, "{tally:?}");
            found += differences.len();
        }
    }
    assert!(found > 0, "something is decided otherwise");
}

#[test]
fn lines_that_mean_nothing_are_told() {
    let told = |text: &str| Line::read(text.as_bytes()).map(drop).map_err(|error| error.to_string());
    assert!(told("{\"input\":{\"at\":9223372036854775807,\"told\":{\"turn\":1}}}").is_err(), "no such time");
    assert!(told("{\"input\":{\"at\":-1,\"told\":{\"turn\":1}}}").is_err(), "no such time");
    assert!(told("{\"input\":{\"at\":1,\"told\":{\"turn\":1}}}").is_ok());
    assert!(told("{\"output\":{}}").is_err(), "an unknown line");
    assert!(told(&"[".repeat(100_000)).is_err(), "deep nesting");
    let gone = "{\"fact\":{\"gone\":{\"kind\":\"Boat\",\"namespace\":\"\",\"name\":\"b\",\"uid\":\"\"}}}";
    let start = record(0).schedulers[0][0].clone();
    let line = Line::read(format!("{{\"input\":{{\"at\":1,\"told\":{gone}}}}}").as_bytes()).expect("a line");
    let mut replay = Replay::new(Arc::new(OneLane));
    replay.take(&start).expect("a start");
    let wrong = replay.take(&line).expect_err("no such kind").to_string();
    assert!(wrong.contains("does not follow objects of kind \"Boat\""), "{wrong}");
    let Line::Start(mut start) = start else { panic!("a recording begins with a start") };
    start.gates.push("FutureFeature".to_owned());
    let wrong = replay.take(&Line::Start(start)).expect_err("no such feature").to_string();
    assert!(wrong.contains("feature FutureFeature, which this version does not have"), "{wrong}");
}

#[test]
fn recording_a_world_changes_nothing_of_it() {
    for seed in 0..10 {
        let plain = play(seed, simulator::world::Sabotage::None, false);
        assert_eq!(record(seed).report.hash, plain.hash, "seed {seed}");
    }
}
