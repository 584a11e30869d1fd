//! Recordings of worlds: what schedulers were told leads to what they did, whatever went wrong.

use std::sync::Arc;

use decisions::lanes::OneLane;
use scheduling::recording::{Line, Replay, ReplayTally, Scribe};
use simulator::world::{Recorded, play, record, record_bargain};

/// How many decisions are replayed in all.
const DECISIONS: u64 = 10_000;

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
    while tally.decisions < DECISIONS / 2 {
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
    assert!(tally.engines > schedulers + 10, "schedulers are killed: {tally:?}, {schedulers} schedulers");
    assert!(leads > 5, "others lead: {leads}");
    assert!(considered > 100, "some decisions are considered: {considered}");
}

#[test]
fn five_thousand_decisions_with_kills_and_changes_of_the_leader_are_the_same_again() {
    all_is_the_same_again(record);
}

#[test]
fn five_thousand_decisions_with_drivers_that_give_devices_are_the_same_again() {
    all_is_the_same_again(record_bargain);
}

#[test]
fn recording_a_world_changes_nothing_of_it() {
    for seed in 0..10 {
        let plain = play(seed, simulator::world::Sabotage::None, false);
        assert_eq!(record(seed).report.hash, plain.hash, "seed {seed}");
    }
}
