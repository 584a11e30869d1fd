//! Recordings on a disk: what was written is read, what was damaged is told, a ring is bounded, and nobody waits.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use recordings::{LineWriter, Recorder, RecordingError, RecordingReader, Target, is_recording};

/// Writes texts, and knows the last.
#[derive(Default)]
struct Plain {
    last: String,
}

impl LineWriter for Plain {
    type Line = String;

    fn write(&mut self, line: String, into: &mut Vec<u8>) {
        into.extend_from_slice(line.as_bytes());
        self.last = line;
    }

    fn opening(&self, each: &mut dyn FnMut(&[u8])) {
        each(format!("after {}", self.last).as_bytes());
    }
}

/// An empty folder of a test.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn written(path: &Path, lines: impl Iterator<Item = String>) {
    let target = Target::File { path: path.to_owned(), max: u64::MAX };
    let mut recorder = Recorder::start(target, Plain::default()).expect("a new file");
    lines.for_each(|line| recorder.record(line));
    recorder.finish().expect("a disk");
}

/// The lines of a recording, and the number of bytes behind which it is cut off.
fn read(path: &Path) -> Result<(Vec<String>, Option<u64>), RecordingError> {
    let mut reader = RecordingReader::open(path)?;
    let mut lines = Vec::new();
    while let Some(frame) = reader.next_frame()? {
        lines.extend(frame.lines().map(|line| String::from_utf8(line.to_vec()).expect("text")));
    }
    Ok((lines, reader.cut_off().first().map(|(_, offset)| *offset)))
}

fn line(number: u64) -> String {
    format!("line {number} {:x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

#[test]
fn lines_are_read_as_they_were_written() {
    let path = folder("lines").join("a.recording");
    written(&path, (0..50_000).map(line));
    assert!(is_recording(&path));
    let (lines, cut) = read(&path).expect("whole");
    assert!(lines.iter().cloned().eq((0..50_000).map(line)));
    assert_eq!(cut, None);
    assert!(fs::metadata(&path).expect("it is there").len() < 50_000 * 24, "it is compressed");
    let target = Target::File { path: path.clone(), max: u64::MAX };
    let again = Recorder::start(target, Plain::default()).expect_err("nothing is overwritten");
    assert!(again.to_string().starts_with("cannot create"), "{again}");
}

#[test]
fn a_folder_takes_the_recording_of_one_scheduler_at_a_time() {
    let folder = folder("locked");
    let ring = || Target::Ring { folder: folder.clone(), max: 1 << 20 };
    let mut first = Recorder::start(ring(), Plain::default()).expect("a folder");
    first.record("one".to_owned());
    let second = Recorder::start(ring(), Plain::default()).expect_err("the first one runs");
    assert!(second.to_string().contains("is in use by another scheduler; hint: "), "{second}");
    first.finish().expect("a disk");
    let mut third = Recorder::start(ring(), Plain::default()).expect("the first one has ended");
    third.record("two".to_owned());
    third.finish().expect("a disk");
    let (lines, _) = read(&folder).expect("whole");
    assert_eq!(lines, ["one", "two"]);
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_read_up_to_the_last_whole_frame() {
    let path = folder("cut").join("a.recording");
    written(&path, (0..20_000).map(line));
    let whole = fs::read(&path).expect("it is there");
    let (all, _) = read(&path).expect("whole");
    let cut = path.with_extension("cut");
    let mut lengths = Vec::new();
    for length in (0..200).chain((200..whole.len()).step_by(19_997)).chain(whole.len() - 200..whole.len()) {
        fs::write(&cut, &whole[..length]).expect("a disk");
        match read(&cut) {
            Err(error) if length < 8 => {
                assert!(matches!(error, RecordingError::NotARecording { .. }), "{error}")
            }
            Err(error) => assert!(length < 20, "{length}: {error}"),
            Ok((lines, cut_at)) => {
                assert!(length >= 20 && all.starts_with(&lines), "{length}");
                assert_eq!(cut_at.is_some(), length != 20 && cut_at != Some(length as u64), "{length}");
                lengths.push(lines.len());
            }
        }
    }
    assert!(lengths.is_sorted() && lengths.last() > lengths.first(), "{lengths:?}");
}

#[test]
fn no_changed_bit_goes_unnoticed() {
    let path = folder("bits").join("a.recording");
    written(&path, (0..8).map(line));
    let mut bytes = fs::read(&path).expect("it is there");
    for bit in 0..bytes.len() * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, &bytes).expect("a disk");
        let error = read(&path).expect_err("a bit was changed").to_string();
        assert!(error.contains("a.recording") && error.contains("hint: "), "{error}");
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
}

/// A header or the header of a frame with its checksum.
fn with_checksum(words: [u32; 3], first: &[u8]) -> Vec<u8> {
    let mut bytes = first.to_vec();
    words.iter().for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    let mut checksum = u32::MAX;
    for byte in &bytes {
        checksum ^= u32::from(*byte);
        (0..8).for_each(|_| checksum = checksum >> 1 ^ if checksum & 1 == 1 { 0xedb8_8320 } else { 0 });
    }
    bytes.extend_from_slice(&(!checksum).to_le_bytes());
    bytes
}

/// A header has two words behind the magic.
fn header(version: u32) -> Vec<u8> {
    let magic = b"SCREC\r\n\x1a";
    let mut first = magic.to_vec();
    first.extend_from_slice(&version.to_le_bytes());
    first.extend_from_slice(&0_u32.to_le_bytes());
    let mut checksum = u32::MAX;
    for byte in &first {
        checksum ^= u32::from(*byte);
        (0..8).for_each(|_| checksum = checksum >> 1 ^ if checksum & 1 == 1 { 0xedb8_8320 } else { 0 });
    }
    first.extend_from_slice(&(!checksum).to_le_bytes());
    first
}

#[test]
fn lengths_that_lie_and_other_versions_are_told_without_reserving_memory() {
    let path = folder("lies").join("a.recording");
    let told = |bytes: &[u8]| {
        fs::write(&path, bytes).expect("a disk");
        read(&path).map_err(|error| error.to_string())
    };
    assert_eq!(told(&header(1)), Ok((Vec::new(), None)), "a recording of nothing");
    let other = told(&header(9)).expect_err("another version");
    assert!(other.contains("has format 9, and this version reads format 1"), "{other}");
    for lengths in [[u32::MAX, u32::MAX, 0], [u32::MAX, 1, 0], [8, 9, 0]] {
        let error = told(&[header(1), with_checksum(lengths, b"")].concat()).expect_err("too long");
        assert!(error.contains("is damaged at byte 20") && error.contains("too long"), "{error}");
    }
    // It could be that long, but the file ends before.
    let cut = told(&[header(1), with_checksum([60 << 20, 60 << 20, 0], b"")].concat());
    assert_eq!(cut, Ok((Vec::new(), Some(20))));
    let other = told(b"apiVersion: v1\nkind: List").expect_err("something else");
    assert!(other.contains("is not a recording"), "{other}");
    assert!(!is_recording(&path));
}

#[test]
fn a_ring_is_bounded_and_each_of_its_files_says_what_was_before() {
    let folder = folder("ring");
    let max = 2 << 20;
    for run in 0..2_u64 {
        let target = Target::Ring { folder: folder.clone(), max };
        let mut recorder = Recorder::start(target, Plain::default()).expect("a folder");
        // Numbers from a generator do not compress, so that files fill up.
        for number in 0..120_000 {
            recorder.record(line(run << 32 | number));
            if number % 10_000 == 0 {
                let sizes =
                    fs::read_dir(&folder).expect("it is there").filter_map(|file| file.ok()?.metadata().ok());
                let taken: u64 = sizes.map(|size| size.len()).sum();
                assert!(taken <= max, "{taken} bytes after {number} lines");
            }
        }
        recorder.finish().expect("a disk");
    }
    assert!(is_recording(&folder));
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("it is there").map(|file| file.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "recording"));
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    assert!(files[0].file_name().is_some_and(|name| name != "0000000001.recording"), "the first is gone");
    let openings = files.iter().map(|file| read(file).expect("whole").0[0].clone());
    let openings: Vec<String> = openings.collect();
    assert!(openings.iter().any(|first| first.starts_with("after line ")), "{openings:?}");
    let (all, _) = read(&folder).expect("a ring");
    assert_eq!(all.last(), Some(&line(1 << 32 | 119_999)));
}

#[test]
fn objects_that_take_too_much_of_a_ring_end_it() {
    struct Large;
    impl LineWriter for Large {
        type Line = u64;
        fn write(&mut self, number: u64, into: &mut Vec<u8>) {
            into.extend_from_slice(line(number).as_bytes());
        }
        fn opening(&self, each: &mut dyn FnMut(&[u8])) {
            (0..100_000).for_each(|number| each(line(number).as_bytes()));
        }
    }
    let target = Target::Ring { folder: folder("large"), max: 2 << 20 };
    let mut recorder = Recorder::start(target, Large).expect("a folder");
    (0..100_000).for_each(|number| recorder.record(number));
    let error = recorder.finish().expect_err("there is no room").to_string();
    assert!(
        error.contains("more than a quarter of 2097152") && error.contains("--record-max-size"),
        "{error}"
    );
}

/// Waits for somebody before each line.
struct Slow {
    go: Receiver<()>,
}

impl LineWriter for Slow {
    type Line = u64;

    fn write(&mut self, _: u64, into: &mut Vec<u8>) {
        let _ = self.go.recv();
        into.push(b'x');
    }

    fn opening(&self, _: &mut dyn FnMut(&[u8])) {}
}

#[test]
fn a_slow_disk_ends_the_recording_and_nobody_waits() {
    let path = folder("slow").join("a.recording");
    let (go, wait) = channel();
    let target = Target::File { path: path.clone(), max: u64::MAX };
    let mut recorder = Recorder::start(target, Slow { go: wait }).expect("a new file");
    // Nothing is written meanwhile. If this waited, the test would never end.
    (0..1_000_000).for_each(|number| recorder.record(number));
    assert!(!recorder.is_recording());
    let trouble = recorder.take_trouble().map(|error| error.to_string()).unwrap_or_default();
    assert!(trouble.contains("too slow") && trouble.contains("hint: "), "{trouble}");
    assert!(recorder.take_trouble().is_none(), "it is told once");
    recorder.record(7);
    drop(go);
}

#[test]
fn a_disk_that_takes_no_more_ends_the_recording() {
    let path = folder("full").join("a.recording");
    let target = Target::File { path: path.clone(), max: 100_000 };
    let mut recorder = Recorder::start(target, Plain::default()).expect("a new file");
    (0..100_000).for_each(|number| recorder.record(line(number)));
    let error = recorder.finish().expect_err("it is full").to_string();
    assert!(error.contains("has reached 100000 bytes"), "{error}");
    assert!(!read(&path).expect("it can be read").0.is_empty());
}
