//! Writes the files of a recording: one file, or a ring of files of which the oldest goes when there is no more room.
//!
//! Invariant: a ring never takes more than it may, each of its files can be read without those before, and one process at a time
//! writes to it.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::error::{RecordingError, Trying};
use crate::frame::{FRAME_MAX, encode, header};
use crate::reader::segments;

/// How the files of a ring end.
pub(crate) const ENDING: &str = "recording";

/// How many plain bytes a frame has, unless what is written has to go out.
const FRAME_BYTES: usize = 256 * 1024;

/// How many files a ring has when it is full, about.
const SEGMENTS: u64 = 4;

/// Turns what is recorded into lines.
pub trait LineWriter: Send + 'static {
    /// What is recorded.
    type Line: Send + 'static;

    /// Appends a line, which has no line break in it.
    fn write(&mut self, line: Self::Line, into: &mut Vec<u8>);

    /// Gives the lines with which another file begins at this point.
    fn opening(&self, each: &mut dyn FnMut(&[u8]));
}

/// Where a recording goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// Into one file.
    File {
        /// The file, which must not be there.
        path: PathBuf,
        /// How many bytes it may take.
        max: u64,
    },
    /// Into a folder, with what is there already.
    Ring {
        /// The folder, which is made if it is not there.
        folder: PathBuf,
        /// How many bytes all of its files may take.
        max: u64,
    },
}

/// Whether a file is one of a ring.
pub(crate) fn is_segment(path: &Path) -> bool {
    number(path).is_some()
}

/// The number of a file of a ring.
fn number(path: &Path) -> Option<u64> {
    let stem = path.extension().filter(|ending| *ending == ENDING).and_then(|_| path.file_stem())?;
    stem.to_str()?.parse().ok()
}

/// Writes lines into files.
#[derive(Debug)]
pub(crate) struct FileWriter<W> {
    lines: W,
    target: Target,
    /// Held on the folder of a ring.
    _lock: Option<File>,
    file: File,
    path: PathBuf,
    /// How many bytes the file has.
    written: u64,
    /// How many of them are its opening.
    opening: u64,
    /// Lines that are not written yet.
    block: Vec<u8>,
    /// Files of the ring before this one with their sizes, the oldest first.
    older: VecDeque<(PathBuf, u64)>,
    number: u64,
}

impl<W: LineWriter> FileWriter<W> {
    pub fn create(target: Target, lines: W) -> Result<FileWriter<W>, RecordingError> {
        let (mut older, mut number, mut lock) = (VecDeque::new(), 0, None);
        let path = match &target {
            Target::File { path, .. } => path.clone(),
            Target::Ring { folder, .. } => {
                fs::create_dir_all(folder).trying("create", folder)?;
                lock = Some(locked(folder)?);
                for path in segments(folder)? {
                    number = number.max(self::number(&path).unwrap_or(0));
                    let size = fs::metadata(&path).trying("read", &path)?.len();
                    older.push_back((path, size));
                }
                number += 1;
                segment(folder, number)
            }
        };
        let file = create(&path)?;
        let written = header().len() as u64;
        let block = Vec::with_capacity(2 * FRAME_BYTES);
        let mut writer =
            FileWriter { lines, target, _lock: lock, file, path, written, opening: 0, block, older, number };
        writer.make_room(0)?;
        Ok(writer)
    }

    /// Takes a line.
    pub fn add(&mut self, line: W::Line) -> Result<(), RecordingError> {
        self.lines.write(line, &mut self.block);
        self.block.push(b'\n');
        if self.block.len() >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    /// Writes what is not written yet.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        if self.block.is_empty() {
            return Ok(());
        }
        let block = std::mem::take(&mut self.block);
        self.write(&block)?;
        self.block = block;
        self.block.clear();
        match &self.target {
            Target::File { max, .. } if self.written > *max => Err(RecordingError::Full { max: *max }),
            Target::Ring { max, .. } if self.written - self.opening > max / SEGMENTS => self.next_segment(),
            Target::File { .. } | Target::Ring { .. } => self.make_room(0),
        }
    }

    /// Writes what is not written yet, and waits until the disk has it.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        self.flush()?;
        self.file.sync_all().trying("sync", &self.path)
    }

    fn write(&mut self, plain: &[u8]) -> Result<(), RecordingError> {
        if plain.len() > FRAME_MAX {
            let (path, offset) = (self.path.clone(), self.written);
            let found = format!("a line of {} bytes is too long to be recorded", plain.len());
            return Err(RecordingError::Damaged { path, offset, found });
        }
        let mut frame = Vec::new();
        encode(plain, &mut frame);
        self.put(&frame)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), RecordingError> {
        self.file.write_all(bytes).trying("write", &self.path)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// Goes on in another file, which begins with what is to be known of those before.
    fn next_segment(&mut self) -> Result<(), RecordingError> {
        let Target::Ring { folder, max } = &self.target else { return Ok(()) };
        let max = *max;
        self.number += 1;
        let path = segment(folder, self.number);
        self.file = create(&path)?;
        self.older.push_back((std::mem::replace(&mut self.path, path), self.written));
        self.written = header().len() as u64;
        let mut opening = Opening::default();
        self.lines.opening(&mut |line| opening.add(line));
        let frames = opening.end();
        self.opening = self.written + frames.len() as u64;
        if self.opening > max / SEGMENTS {
            return Err(RecordingError::TooSmall { needed: self.opening, max });
        }
        self.make_room(frames.len())?;
        self.put(&frames)
    }

    /// Removes the oldest files of a ring until there is room for so many bytes and one more frame.
    fn make_room(&mut self, bytes: usize) -> Result<(), RecordingError> {
        let Target::Ring { max, .. } = &self.target else { return Ok(()) };
        let taken: u64 = self.older.iter().map(|(_, size)| size).sum();
        let mut taken = taken + self.written + (bytes + 2 * FRAME_BYTES) as u64;
        while taken > *max
            && let Some((path, size)) = self.older.pop_front()
        {
            fs::remove_file(&path).trying("remove", &path)?;
            taken -= size;
        }
        Ok(())
    }
}

/// The lock of a folder, which ends with the process.
fn locked(folder: &Path) -> Result<File, RecordingError> {
    let path = folder.join("lock");
    let file =
        OpenOptions::new().create(true).truncate(false).write(true).open(&path).trying("open", &path)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RecordingError::InUse { path: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(source).trying("lock", &path),
    }
}

/// The frames with which a file begins.
#[derive(Default)]
struct Opening {
    frames: Vec<u8>,
    block: Vec<u8>,
}

impl Opening {
    fn add(&mut self, line: &[u8]) {
        self.block.extend_from_slice(line);
        self.block.push(b'\n');
        if self.block.len() >= FRAME_BYTES {
            encode(&self.block, &mut self.frames);
            self.block.clear();
        }
    }

    fn end(mut self) -> Vec<u8> {
        if !self.block.is_empty() {
            encode(&self.block, &mut self.frames);
        }
        self.frames
    }
}

fn segment(folder: &Path, number: u64) -> PathBuf {
    folder.join(format!("{number:010}.{ENDING}"))
}

/// Makes a file that only its owner may read: names of a cluster are nobody else's business.
fn create(path: &Path) -> Result<File, RecordingError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    options.mode(0o600);
    let mut file = options.open(path).trying("create", path)?;
    file.write_all(&header()).trying("write", path)?;
    Ok(file)
}
