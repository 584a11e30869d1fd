//! The layout of snapshots: a header, blocks of records, and a footer that vouches for every byte before it.
//!
//! header: magic 8 | version 4 | zero 4 | revision 8
//! block:  plain length 4 | stored length 4 | bytes, which are records of length 4 | payload; LZ4 if the lengths differ
//! footer: zero 8 | records 8 | checksum 4
//!
//! A snapshot is complete or it is not used: readers check the whole file before they hand out its first record.

use std::path::{Path, PathBuf};

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};

use crate::disk::{Disk, DiskFile, read_full, write_all};
use crate::error::{JournalError, Trying};
use crate::record::{u32_at, u64_at};

const HEADER: usize = 24;
const BLOCK_HEADER: usize = 8;
const FOOTER: usize = 20;
const MAGIC: [u8; 8] = *b"SCSNP\r\n\x1a";
const VERSION: u32 = 1;
const BLOCK_BYTES: usize = 256 * 1024;
/// How much is written before it is synced, so that the disk never owes so much that a sync of the log must wait for it.
const UNSYNCED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The path of the snapshot at a revision.
pub(crate) fn snapshot_path(dir: &Path, revision: u64) -> PathBuf {
    dir.join(format!("{revision:020}.snapshot"))
}

/// Writes a snapshot's file from front to back.
pub(crate) struct SnapshotWriter {
    file: Box<dyn DiskFile>,
    path: PathBuf,
    block: Vec<u8>,
    packed: Vec<u8>,
    checksum: crc32fast::Hasher,
    records: u64,
    written: usize,
    synced: usize,
}

impl SnapshotWriter {
    pub(crate) fn create(
        disk: &dyn Disk,
        path: &Path,
        revision: u64,
    ) -> Result<SnapshotWriter, JournalError> {
        let file = disk.create(path).trying("create", path)?;
        let mut writer = SnapshotWriter {
            file,
            path: path.to_owned(),
            block: Vec::with_capacity(2 * BLOCK_BYTES),
            packed: Vec::new(),
            checksum: crc32fast::Hasher::new(),
            records: 0,
            written: 0,
            synced: 0,
        };
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[16..].copy_from_slice(&revision.to_le_bytes());
        writer.write(&header)?;
        Ok(writer)
    }

    pub(crate) fn add(&mut self, payload: &[u8]) -> Result<(), JournalError> {
        let length = u32::try_from(payload.len()).ok().filter(|length| *length < u32::MAX / 2);
        let Some(length) = length else {
            return Err(JournalError::TooLarge { bytes: payload.len(), most: u32::MAX as usize / 2 });
        };
        self.block.extend_from_slice(&length.to_le_bytes());
        self.block.extend_from_slice(payload);
        self.records += 1;
        if self.block.len() >= BLOCK_BYTES { self.end_block() } else { Ok(()) }
    }

    /// Completes the file and makes it durable; says how many records and bytes it has.
    pub(crate) fn finish(mut self) -> Result<(u64, u64), JournalError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let mut footer = [0; FOOTER];
        footer[8..16].copy_from_slice(&self.records.to_le_bytes());
        self.checksum.update(&footer[..16]);
        footer[16..].copy_from_slice(&self.checksum.clone().finalize().to_le_bytes());
        write_all(&mut *self.file, &footer, self.written as u64).trying("write", &self.path)?;
        self.file.sync().trying("sync", &self.path)?;
        Ok((self.records, (self.written + FOOTER) as u64))
    }

    fn end_block(&mut self) -> Result<(), JournalError> {
        let block = std::mem::take(&mut self.block);
        let mut packed = std::mem::take(&mut self.packed);
        packed.resize(get_maximum_output_size(block.len()), 0);
        let length = compress_into(&block, &mut packed).expect("there is room for what cannot be compressed");
        let stored = if length < block.len() { &packed[..length] } else { &block[..] };
        self.write(&[(block.len() as u32).to_le_bytes(), (stored.len() as u32).to_le_bytes()].concat())?;
        self.write(stored)?;
        (self.block, self.packed) = (block, packed);
        self.block.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.checksum.update(bytes);
        write_all(&mut *self.file, bytes, self.written as u64).trying("write", &self.path)?;
        self.written += bytes.len();
        if self.written - self.synced > UNSYNCED_BYTES_MAX {
            self.file.sync().trying("sync", &self.path)?;
            self.synced = self.written;
        }
        Ok(())
    }
}

/// Checks every byte of a snapshot without handing anything out.
pub(crate) fn verify_snapshot(disk: &dyn Disk, path: &Path, revision: u64) -> Result<(), JournalError> {
    walk(disk, path, revision, |_, _, _| Ok(())).map(|_| ())
}

/// Hands out the records of a snapshot in the order in which they were added, and says how many there were.
pub(crate) fn read_snapshot(
    disk: &dyn Disk,
    path: &Path,
    revision: u64,
    mut visit: impl FnMut(&[u8]) -> Result<(), JournalError>,
) -> Result<u64, JournalError> {
    let mut seen = 0;
    let mut unpacked = Vec::new();
    let promised = walk(disk, path, revision, |plain_length, stored, offset| {
        let mut rest = unpack(stored, plain_length, &mut unpacked)
            .ok_or_else(|| JournalError::damaged(path, offset, "the block cannot be decompressed"))?;
        while !rest.is_empty() {
            let payload = rest.get(..4).and_then(|length| rest.get(4..4 + u32_at(length, 0) as usize));
            let payload = payload
                .ok_or_else(|| JournalError::damaged(path, offset, "a record is longer than its block"))?;
            visit(payload)?;
            seen += 1;
            rest = &rest[4 + payload.len()..];
        }
        Ok(())
    })?;
    if seen != promised {
        let found = format!("{seen} records where the footer says {promised}");
        return Err(JournalError::damaged(path, 0, found));
    }
    Ok(seen)
}

/// The plain bytes of a block.
fn unpack<'b>(stored: &'b [u8], plain_length: usize, unpacked: &'b mut Vec<u8>) -> Option<&'b [u8]> {
    if stored.len() == plain_length {
        return Some(stored);
    }
    unpacked.resize(plain_length, 0);
    let length = decompress_into(stored, unpacked).ok()?;
    (length == plain_length).then_some(unpacked)
}

/// Goes over the blocks, checks the file's structure and its checksum, and gives the number of records in the footer.
fn walk(
    disk: &dyn Disk,
    path: &Path,
    revision: u64,
    mut visit: impl FnMut(usize, &[u8], usize) -> Result<(), JournalError>,
) -> Result<u64, JournalError> {
    let file = disk.open(path).trying("open", path)?;
    let size = file.size().trying("read", path)? as usize;
    let mut checksum = crc32fast::Hasher::new();
    let mut buffer = Vec::new();
    let read = |at: usize, length: usize, buffer: &mut Vec<u8>| {
        if at.checked_add(length).is_none_or(|end| end > size) {
            return Err(JournalError::damaged(
                path,
                at,
                format!("the file ends at byte {size}, within a block"),
            ));
        }
        buffer.resize(length, 0);
        let got = read_full(&*file, buffer, at as u64).trying("read", path)?;
        if got < length {
            return Err(JournalError::damaged(path, at + got, "the file shrank while it was read"));
        }
        Ok(())
    };
    read(0, HEADER, &mut buffer)?;
    check_header(&buffer, revision).map_err(|found| JournalError::damaged(path, 0, found))?;
    checksum.update(&buffer);
    let mut at = HEADER;
    loop {
        read(at, BLOCK_HEADER, &mut buffer)?;
        checksum.update(&buffer);
        let (plain, stored) = (u32_at(&buffer, 0) as usize, u32_at(&buffer, 4) as usize);
        if stored == 0 {
            break;
        }
        read(at + BLOCK_HEADER, stored, &mut buffer)?;
        checksum.update(&buffer);
        visit(plain, &buffer, at)?;
        at += BLOCK_HEADER + stored;
    }
    read(at, FOOTER, &mut buffer)?;
    checksum.update(&buffer[8..16]);
    if checksum.finalize() != u32_at(&buffer, 16) || at + FOOTER != size {
        return Err(JournalError::damaged(path, at, "the checksum of the file does not fit"));
    }
    Ok(u64_at(&buffer, 8))
}

fn check_header(header: &[u8], revision: u64) -> Result<(), String> {
    if header[..8] != MAGIC {
        return Err("this is not a snapshot".to_owned());
    }
    let (version, stands) = (u32_at(header, 8), u64_at(header, 16));
    if version != VERSION {
        return Err(format!("the format's version is {version}, this program knows {VERSION}"));
    }
    if stands != revision {
        return Err(format!("the file name contradicts the header, which says {stands}"));
    }
    Ok(())
}
