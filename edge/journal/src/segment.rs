//! One file of the log: how it is made, appended to and read.
//!
//! A segment holds the revisions from its first one up to the first one of the segment after it. Whatever else it holds
//! was never acknowledged. So a segment that failed is left behind by making the next one, and never written again.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::disk::{Disk, DiskFile, read_full, write_all};
use crate::error::{JournalError, Trying};
use crate::record::{SEGMENT_HEADER, SegmentHeader, encode_record, record_at, was_durable};

/// Groups that are larger than this are written without zeros behind them, which would cost more than they save.
const ZEROED_GROUP_BYTES_MAX: usize = 128 * 1024;

/// The path of the segment that begins with a revision.
pub(crate) fn segment_path(dir: &Path, first_revision: u64) -> PathBuf {
    dir.join(format!("{first_revision:020}.log"))
}

/// The segment that is being appended to.
pub(crate) struct ActiveSegment {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    salt: u32,
    /// Everything before this is durable, and nothing behind it was acknowledged.
    end: usize,
    /// The file is zeroed up to here, so a write before it need not grow the file, which makes the sync cheaper.
    zeroed: usize,
    buffer: Vec<u8>,
}

impl ActiveSegment {
    /// Makes a segment that begins with records which are already known; it is durable when this returns.
    pub(crate) fn create(
        disk: &dyn Disk,
        dir: &Path,
        first_revision: u64,
        records: &[Vec<u8>],
    ) -> Result<ActiveSegment, JournalError> {
        let salt = fresh_salt();
        let mut buffer = vec![0; SEGMENT_HEADER];
        for (revision, payload) in (first_revision..).zip(records) {
            encode_record(&mut buffer, salt, SEGMENT_HEADER as u32, revision, payload);
        }
        let header = SegmentHeader { salt, first_revision, sealed: buffer.len() as u64 };
        buffer[..SEGMENT_HEADER].copy_from_slice(&header.encode());

        let path = segment_path(dir, first_revision);
        let unfinished = path.with_extension("log.tmp");
        let mut file = disk.create(&unfinished).trying("create", &unfinished)?;
        write_all(&mut *file, &buffer, 0).trying("write", &unfinished)?;
        file.sync().trying("sync", &unfinished)?;
        disk.rename(&unfinished, &path).trying("name", &path)?;
        disk.sync_dir(dir).trying("sync", dir)?;
        Ok(ActiveSegment { file, path, salt, end: buffer.len(), zeroed: buffer.len(), buffer })
    }

    /// How many bytes of the segment are durable.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Writes a group of records with one write and one sync. After an error the segment must be left behind.
    pub(crate) fn commit<'r>(
        &mut self,
        records: impl Iterator<Item = (u64, &'r [u8])>,
        zero_ahead_bytes: usize,
    ) -> Result<(), JournalError> {
        let committed = u32::try_from(self.end).expect("a segment is left before it reaches 4 GiB");
        self.buffer.clear();
        for (revision, payload) in records {
            encode_record(&mut self.buffer, self.salt, committed, revision, payload);
        }
        let length = self.buffer.len();
        if self.end + length > self.zeroed && length <= ZEROED_GROUP_BYTES_MAX {
            self.buffer.resize(length + zero_ahead_bytes, 0);
        }
        write_all(&mut *self.file, &self.buffer, self.end as u64).trying("write", &self.path)?;
        self.file.sync().trying("sync", &self.path)?;
        self.zeroed = self.zeroed.max(self.end + self.buffer.len());
        self.end += length;
        Ok(())
    }

    /// Writes zeros behind the durable part, which shows that there is room for records. After an error the segment must be
    /// left behind.
    pub(crate) fn zero_ahead(&mut self, bytes: usize) -> Result<(), JournalError> {
        write_all(&mut *self.file, &vec![0; bytes], self.end as u64).trying("write", &self.path)?;
        self.file.sync().trying("sync", &self.path)?;
        self.zeroed = self.zeroed.max(self.end + bytes);
        Ok(())
    }

    /// Durably removes the remains of a failed write.
    pub(crate) fn cut(mut self) -> io::Result<()> {
        self.file.set_size(self.end as u64)?;
        self.file.sync()
    }

    /// Gives back the zeros behind the durable part.
    pub(crate) fn leave(mut self) {
        // Zeros are no records, so it does no harm if this fails.
        let _ = self.file.set_size(self.end as u64);
    }
}

/// A salt that nobody can guess, from the seed that the standard library takes for its hash maps.
fn fresh_salt() -> u32 {
    RandomState::new().hash_one("salt") as u32
}

/// Where reading a segment ended.
#[derive(Debug)]
pub(crate) struct SegmentEnd {
    /// The revision after the last one that was read.
    pub(crate) next: u64,
    /// Where the last record ended.
    pub(crate) offset: usize,
    /// How many bytes behind that are neither records nor zeros.
    pub(crate) torn_bytes: usize,
    /// The records that may not be durable, and where they begin. Only the last segment can have them.
    pub(crate) uncertain: Vec<Vec<u8>>,
    pub(crate) certain: usize,
}

/// Reads a segment up to the revision with which the next segment begins, or to its end if it is the last.
///
/// A last segment may end in a torn group. Anything else that cannot be read is damage.
pub(crate) fn read_segment(
    disk: &dyn Disk,
    path: &Path,
    first_revision: u64,
    successor: Option<u64>,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), JournalError>,
) -> Result<SegmentEnd, JournalError> {
    let bytes = read_file(disk, path).trying("read", path)?;
    let header = SegmentHeader::decode(&bytes).map_err(|found| JournalError::damaged(path, 0, found))?;
    if header.first_revision != first_revision {
        let found = format!("the file name contradicts the header, which says {}", header.first_revision);
        return Err(JournalError::damaged(path, 0, found));
    }
    let mut next = first_revision;
    let mut offset = SEGMENT_HEADER;
    let mut certain = header.sealed as usize;
    let mut uncertain: Vec<Range<usize>> = Vec::new();
    while successor != Some(next) {
        let Some(record) = record_at(&bytes, offset, header.salt) else { break };
        if record.revision != next {
            let found = format!("revision {} stands where {next} is expected", record.revision);
            return Err(JournalError::damaged(path, offset, found));
        }
        visit(next, &bytes[record.payload.clone()])?;
        if record.committed > certain {
            certain = record.committed;
            uncertain.clear();
        }
        if offset >= certain {
            uncertain.push(record.payload.clone());
        }
        offset = record.payload.end;
        next += 1;
    }
    match successor {
        Some(successor) if next < successor => {
            let found = format!("revisions {next} to {} are missing or cannot be read", successor - 1);
            return Err(JournalError::damaged(path, offset, found));
        }
        None if offset < certain || was_durable(&bytes, offset, header.salt, next) => {
            let found = format!("revision {next} cannot be read and later revisions can");
            return Err(JournalError::damaged(path, offset, found));
        }
        Some(_) | None => {}
    }
    let rest = &bytes[offset..];
    let torn_bytes = rest.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    let uncertain = uncertain.into_iter().map(|payload| bytes[payload].to_vec()).collect();
    Ok(SegmentEnd { next, offset, torn_bytes, uncertain, certain })
}

fn read_file(disk: &dyn Disk, path: &Path) -> io::Result<Vec<u8>> {
    let file = disk.open(path)?;
    let mut bytes = vec![0; file.size()? as usize];
    let read = read_full(&*file, &mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}
