//! Measures the journal on a real disk: `cargo bench --package journal -- DIR OBJECTS`, both optional.
//!
//! Appends with a sync for each group, by group size and by number of threads, beside the bare disk; then fills a journal
//! with objects of 1.5 KiB, takes a snapshot and opens it again. The directory should be on the disk in question.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use journal::{Journal, Options, PendingRecord, Source};

const OBJECTS: u64 = 1_000_000;
const RUN: Duration = Duration::from_secs(3);

fn main() {
    // Cargo adds `--bench`, which means nothing here.
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let parent = arguments.next().map_or_else(|| PathBuf::from(env!("CARGO_TARGET_TMPDIR")), PathBuf::from);
    let objects = arguments.next().map_or(OBJECTS, |text| text.parse().expect("OBJECTS is a number"));
    let dir = parent.join("journal-bench");
    for group in [1, 16, 256] {
        measure_disk(&dir, group);
        measure_groups(&dir, group);
    }
    for threads in [1, 16, 256] {
        measure_threads(&dir, threads);
    }
    measure_recovery(&dir, objects);
    std::fs::remove_dir_all(&dir).expect("the bench's own directory");
}

/// A pod of about 1.5 KiB. Names, ids and addresses differ from pod to pod, the rest is what a template would give.
fn pod(revision: u64) -> Vec<u8> {
    let mut mixed = revision.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut word = || {
        mixed ^= mixed >> 29;
        mixed = mixed.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed
    };
    let (uid, node, image, job) = (word(), word() % 5000, word(), word() % 20_000);
    let mut pod = Vec::with_capacity(1600);
    write!(
        pod,
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"train-{job}-worker-{revision}","namespace":"team-{}","uid":"{uid:016x}-{:016x}","resourceVersion":"{revision}","creationTimestamp":"2026-11-15T10:{:02}:{:02}Z","labels":{{"app":"train","job":"train-{job}","index":"{revision}","pod-template-hash":"{:08x}"}},"ownerReferences":[{{"apiVersion":"batch/v1","kind":"Job","name":"train-{job}","uid":"{:016x}","controller":true}}]}},"spec":{{"schedulerName":"supercargo","nodeName":"node-{node}","priority":{},"restartPolicy":"Never","terminationGracePeriodSeconds":30,"containers":[{{"name":"main","image":"registry.example/train@sha256:{image:016x}{:016x}{:016x}","command":["python","-m","train","--rank","{revision}"],"resources":{{"requests":{{"cpu":"8","memory":"64Gi"}},"limits":{{"cpu":"8","memory":"64Gi"}},"claims":[{{"name":"gpus"}}]}},"env":[{{"name":"MASTER","value":"train-{job}-0.train"}},{{"name":"WORLD_SIZE","value":"64"}}],"terminationMessagePath":"/dev/termination-log","imagePullPolicy":"IfNotPresent"}}],"resourceClaims":[{{"name":"gpus","resourceClaimTemplateName":"gpus-{job}"}}],"tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}]}},"status":{{"phase":"Running","podIP":"10.{}.{}.{}","startTime":"2026-11-15T10:01:02Z","conditions":[{{"type":"Ready","status":"True","lastTransitionTime":"2026-11-15T10:01:09Z"}},{{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-11-15T10:01:02Z"}}]}}}}"#,
        job % 40, word(), revision / 60 % 60, revision % 60, word() as u32, word(), revision % 10, word(), word(),
        node / 250, node % 250, revision % 250
    )
    .expect("memory takes every write");
    pod
}

fn open_empty(dir: &Path) -> Journal {
    // What an earlier run left behind, if any.
    let _ = std::fs::remove_dir_all(dir);
    Journal::open(dir, Options::default(), |_| Ok(())).expect("the directory can be used").0
}

/// The same bytes written and synced with nothing around them: what the disk gives at this moment.
fn measure_disk(dir: &Path, group: u64) {
    drop(open_empty(dir));
    let mut file = std::fs::File::create(dir.join("raw")).expect("the directory can be used");
    let mut waits = Vec::new();
    let began = Instant::now();
    for first in (1..).step_by(group as usize) {
        if began.elapsed() >= RUN {
            break;
        }
        let bytes: Vec<u8> = (first..first + group).flat_map(pod).collect();
        let asked = Instant::now();
        file.write_all(&bytes).and_then(|()| file.sync_data()).expect("the disk works");
        waits.push(asked.elapsed());
    }
    report(&format!("bare disk, {group}"), waits.len() as u64 * group, began.elapsed(), waits);
}

/// One thread appends groups of a given size and waits for each.
fn measure_groups(dir: &Path, group: u64) {
    let journal = open_empty(dir);
    let mut waits = Vec::new();
    let began = Instant::now();
    while began.elapsed() < RUN {
        let (sender, receiver) = channel();
        let first = journal.next_revision();
        let entries = (first..first + group).map(|revision| {
            let sender = sender.clone();
            PendingRecord::new(revision, pod(revision), move |written| {
                written.expect("the disk works");
                sender.send(()).expect("the bench waits");
            })
        });
        let entries = entries.collect();
        let asked = Instant::now();
        journal.append(entries).expect("in order");
        drop(sender);
        assert_eq!(receiver.iter().count() as u64, group);
        waits.push(asked.elapsed());
    }
    report(&format!("groups of {group}"), journal.durable_revision(), began.elapsed(), waits);
}

/// Many threads append one record each and wait for it, as the connections of a server do.
fn measure_threads(dir: &Path, threads: usize) {
    let journal = open_empty(dir);
    let next = Mutex::new(1);
    let waits = Mutex::new(Vec::new());
    let began = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut own = Vec::new();
                while began.elapsed() < RUN {
                    own.push(append_one(&journal, &next));
                }
                waits.lock().expect("no panic").extend(own);
            });
        }
    });
    let waits = waits.into_inner().expect("no panic");
    report(&format!("{threads} threads"), journal.durable_revision(), began.elapsed(), waits);
}

fn append_one(journal: &Journal, next: &Mutex<u64>) -> Duration {
    let (sender, receiver) = channel();
    let asked = Instant::now();
    {
        let mut next = next.lock().expect("no panic");
        let done = move |written: Result<_, _>| sender.send(written).expect("the thread waits");
        journal.append(vec![PendingRecord::new(*next, pod(*next), done)]).expect("in order");
        *next += 1;
    }
    receiver.recv().expect("is answered").expect("the disk works");
    asked.elapsed()
}

fn report(what: &str, records: u64, took: Duration, mut waits: Vec<Duration>) {
    waits.sort_unstable();
    let millis = |part: usize| waits[(waits.len() - 1) * part / 1000].as_secs_f64() * 1e3;
    println!(
        "append, {what:>14}: {:>6.0} records/s, wait p50 {:.2} p99 {:.2} max {:.2} ms",
        records as f64 / took.as_secs_f64(),
        millis(500),
        millis(990),
        millis(1000),
    );
}

/// Fills a journal, opens it from the log, takes a snapshot with appends meanwhile, and opens it from that.
fn measure_recovery(dir: &Path, objects: u64) {
    let journal = open_empty(dir);
    let began = Instant::now();
    for first in (1..=objects).step_by(256) {
        let last = (first + 255).min(objects);
        let entries = (first..=last).map(|revision| PendingRecord::new(revision, pod(revision), |_| ()));
        journal.append(entries.collect()).expect("in order");
    }
    drop(journal);
    println!("fill with {objects} objects: {:.2} s, {} MiB", began.elapsed().as_secs_f64(), mebibytes(dir));

    let (journal, kept) = timed_open(dir, "open from the log");
    let began = Instant::now();
    let (sender, receiver) = channel();
    let records = Arc::new(kept);
    let iterated = Arc::clone(&records);
    let payloads = (0..records.len()).map(move |index| Arc::clone(&iterated[index]));
    journal
        .snapshot(objects, payloads, move |written| sender.send(written).expect("the bench waits"))
        .expect("nothing else runs");
    let mut waits = Vec::new();
    let next = Mutex::new(objects + 1);
    let written = loop {
        match receiver.try_recv() {
            Ok(written) => break written.expect("the disk works"),
            Err(_) => waits.push(append_one(&journal, &next)),
        }
    };
    let took = began.elapsed();
    println!("snapshot: {:.2} s, {} MiB", took.as_secs_f64(), written.bytes >> 20);
    report("one meanwhile", waits.len() as u64, took, waits);
    drop((journal, records));
    timed_open(dir, "open from the snapshot");
}

/// Opens the journal the way a server would, with every object in its own allocation.
fn timed_open(dir: &Path, what: &str) -> (Journal, Vec<Arc<[u8]>>) {
    let began = Instant::now();
    let mut kept: Vec<Arc<[u8]>> = Vec::new();
    let opened = Journal::open(dir, Options::default(), |record| {
        match record.source {
            Source::Snapshot | Source::Log => kept.push(record.payload.into()),
        }
        Ok(())
    });
    let (journal, recovery) = opened.expect("the journal is whole");
    println!(
        "{what}: {:.2} s, {} records from the snapshot, {} from {} segments of the log",
        began.elapsed().as_secs_f64(),
        recovery.snapshot_records,
        recovery.log_records,
        recovery.segments,
    );
    (journal, kept)
}

fn mebibytes(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).expect("the bench's own directory");
    files.map(|file| file.and_then(|file| file.metadata()).map_or(0, |file| file.len())).sum::<u64>() >> 20
}
