//! Opening a journal: what is in the directory is checked and handed out, and the log continues behind it.
//!
//! Nothing is changed on the disk before everything was read and found good.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::disk::{Disk, OsDisk};
use crate::error::{JournalError, Trying};
use crate::segment::{ActiveSegment, SegmentEnd, read_segment, segment_path};
use crate::snapshot_file::{read_snapshot, snapshot_path, verify_snapshot};

/// Where a recovered record comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// From the snapshot; its revision is that of the snapshot.
    Snapshot,
    /// From the log behind the snapshot; its revision is its own.
    Log,
}

/// A record that is handed out when a journal is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recovered<'r> {
    /// Where it comes from.
    pub source: Source,
    /// The revision.
    pub revision: u64,
    /// What was appended, or given to the snapshot.
    pub payload: &'r [u8],
}

/// What opening a journal found.
#[derive(Debug, Clone, Default)]
pub struct Recovery {
    /// The revision of the snapshot that was read, or 0.
    pub snapshot_revision: u64,
    /// How many records it had.
    pub snapshot_records: u64,
    /// How many segments of the log were read.
    pub segments: usize,
    /// How many records behind the snapshot the log had.
    pub log_records: u64,
    /// Their payloads' bytes.
    pub log_bytes: u64,
    /// The last revision, or 0.
    pub last_revision: u64,
    /// How many bytes of a write that was never acknowledged were cut off.
    pub torn_bytes: u64,
    /// Damaged snapshots that an older one and the log made up for.
    pub damaged_snapshots: Vec<JournalError>,
}

/// The refusal of a recovered record by whoever receives it.
pub(crate) type Refused = Box<dyn std::error::Error + Send + Sync>;

/// The files of a directory that are ours.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) segments: BTreeSet<u64>,
    pub(crate) snapshots: BTreeSet<u64>,
    unfinished: Vec<PathBuf>,
}

impl Contents {
    pub(crate) fn list(disk: &dyn Disk, dir: &Path) -> Result<Contents, JournalError> {
        let mut contents = Contents::default();
        for name in disk.list(dir).trying("list", dir)? {
            let Some((stem, kind)) = name.split_once('.') else { continue };
            let Some(revision) = revision_of(stem) else { continue };
            match kind {
                "log" => drop(contents.segments.insert(revision)),
                "snapshot" => drop(contents.snapshots.insert(revision)),
                "log.tmp" | "snapshot.tmp" => contents.unfinished.push(dir.join(&name)),
                _ => {}
            }
        }
        Ok(contents)
    }
}

/// Whether a directory holds anything of a journal. Every journal that was opened once has a segment.
///
/// # Errors
/// When the directory is there and cannot be read.
pub fn holds_journal(dir: &Path) -> Result<bool, JournalError> {
    if !dir.exists() {
        return Ok(false);
    }
    let contents = Contents::list(&OsDisk, dir)?;
    Ok(!contents.segments.is_empty() || !contents.snapshots.is_empty())
}

/// Reads the number in a file's name, if it is written as we write it.
fn revision_of(stem: &str) -> Option<u64> {
    (stem.len() == 20 && stem.bytes().all(|byte| byte.is_ascii_digit())).then(|| stem.parse().ok())?
}

/// Reads everything, hands it out, and makes the segment that the log goes on with.
pub(crate) fn recover(
    disk: &dyn Disk,
    dir: &Path,
    mut replay: impl FnMut(Recovered<'_>) -> Result<(), Refused>,
) -> Result<(Recovery, ActiveSegment), JournalError> {
    let contents = Contents::list(disk, dir)?;
    let mut recovery = Recovery::default();
    let mut hand_out = |source, revision, payload: &[u8]| {
        let handed = replay(Recovered { source, revision, payload });
        handed.map_err(|refused| JournalError::Replay { revision, source: Arc::from(refused) })
    };
    let base = newest_good_snapshot(disk, dir, &contents, &mut recovery.damaged_snapshots)?;
    recovery.snapshot_revision = base;
    let needed = needed_segments(dir, &contents, base, &recovery.damaged_snapshots)?;
    if base > 0 {
        let path = snapshot_path(dir, base);
        recovery.snapshot_records =
            read_snapshot(disk, &path, base, |payload| hand_out(Source::Snapshot, base, payload))?;
    }

    let mut last = None;
    for (index, first) in needed.iter().enumerate() {
        let successor = needed.get(index + 1).copied();
        let end = read_segment(disk, &segment_path(dir, *first), *first, successor, |revision, payload| {
            if revision <= base {
                return Ok(());
            }
            recovery.log_records += 1;
            recovery.log_bytes += payload.len() as u64;
            hand_out(Source::Log, revision, payload)
        })?;
        recovery.segments += 1;
        last = Some((*first, end));
    }
    check_reaches_snapshots(dir, &contents, last.as_ref())?;

    // From here on the disk is changed.
    for path in &contents.unfinished {
        disk.remove(path).trying("remove", path)?;
    }
    let active = continue_log(disk, dir, last.as_ref())?;
    if let Some((_, end)) = last {
        recovery.last_revision = end.next - 1;
        recovery.torn_bytes = end.torn_bytes as u64;
    }
    Ok((recovery, active))
}

/// The newest snapshot of which every byte is good, or 0. The damaged ones are noted.
fn newest_good_snapshot(
    disk: &dyn Disk,
    dir: &Path,
    contents: &Contents,
    damaged: &mut Vec<JournalError>,
) -> Result<u64, JournalError> {
    for revision in contents.snapshots.iter().rev() {
        match verify_snapshot(disk, &snapshot_path(dir, *revision), *revision) {
            Ok(()) => return Ok(*revision),
            Err(error) if error.is_damage() => damaged.push(error),
            Err(error) => return Err(error),
        }
    }
    Ok(0)
}

/// The segments that hold what came after the snapshot, oldest first.
fn needed_segments(
    dir: &Path,
    contents: &Contents,
    base: u64,
    damaged: &[JournalError],
) -> Result<Vec<u64>, JournalError> {
    let is_new = contents.segments.is_empty() && contents.snapshots.is_empty();
    match contents.segments.range(..=base + 1).next_back() {
        Some(first) => Ok(contents.segments.range(first..).copied().collect()),
        None if is_new => Ok(Vec::new()),
        // If a damaged snapshot is why the log is too short, then it is the news, and not the log.
        None => Err(damaged.first().cloned().unwrap_or_else(|| {
            JournalError::damaged(
                dir,
                0,
                format!("the segment of the log with revision {} is missing", base + 1),
            )
        })),
    }
}

/// A snapshot is only made of what the log has, so a log that ends before one has lost its end.
fn check_reaches_snapshots(
    dir: &Path,
    contents: &Contents,
    last: Option<&(u64, SegmentEnd)>,
) -> Result<(), JournalError> {
    let next = last.map_or(1, |(_, end)| end.next);
    match contents.snapshots.last() {
        Some(snapshot) if *snapshot >= next => {
            let found = format!("the log ends with revision {} and a snapshot has {snapshot}", next - 1);
            let path = last.map_or(dir.to_owned(), |(first, _)| segment_path(dir, *first));
            Err(JournalError::damaged(&path, last.map_or(0, |(_, end)| end.offset), found))
        }
        _ => Ok(()),
    }
}

/// Makes the segment that is appended to from now on.
///
/// The last group of the old one can be read, but perhaps only from memory that the disk never received, for example
/// when the process before was killed or its sync failed. So it is written once more, as the beginning of the new segment.
fn continue_log(
    disk: &dyn Disk,
    dir: &Path,
    last: Option<&(u64, SegmentEnd)>,
) -> Result<ActiveSegment, JournalError> {
    let Some((first, end)) = last else { return ActiveSegment::create(disk, dir, 1, &[]) };
    // Torn bytes and zeros go first, because on a full disk the new segment may need their space.
    let old = segment_path(dir, *first);
    cut(disk, &old, end.offset);
    let from = end.next - end.uncertain.len() as u64;
    let active = ActiveSegment::create(disk, dir, from, &end.uncertain)?;
    if from != *first {
        cut(disk, &old, end.certain);
    }
    Ok(active)
}

/// Gives back the space behind an offset. What lies there means nothing, so it does no harm if this fails.
fn cut(disk: &dyn Disk, path: &Path, size: usize) {
    let _ = disk
        .open(path)
        .and_then(|mut file| if file.size()? > size as u64 { file.set_size(size as u64) } else { Ok(()) });
}
