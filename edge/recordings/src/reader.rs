//! Reads recordings, one frame after the other.
//!
//! Invariant: what is handed out is what was written. A file that ends within a frame was being written when its process died: it is
//! read up to there, and that is told. Anything else that is not what was written is an error.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::error::{RecordingError, Trying};
use crate::frame::{Beginning, FRAME_HEADER, FrameHeader, HEADER, VERSION, beginning};
use crate::writer::{ENDING, is_segment};

/// Some lines of a recording.
#[derive(Debug)]
pub struct RecordingFrame {
    /// The file that they are in.
    pub path: PathBuf,
    /// Where the frame begins in the file.
    pub offset: u64,
    bytes: Vec<u8>,
}

impl RecordingFrame {
    /// The lines.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
    }

    /// The error that a line of the frame is not what was written.
    #[must_use]
    pub fn damaged(&self, found: String) -> RecordingError {
        RecordingError::Damaged { path: self.path.clone(), offset: self.offset, found }
    }
}

/// Reads a recording: a file, or a folder with the files of a ring.
#[derive(Debug)]
pub struct RecordingReader {
    /// Files that are not read yet, the last first.
    left: Vec<PathBuf>,
    open: Option<OpenFile>,
    cut: Vec<(PathBuf, u64)>,
}

#[derive(Debug)]
struct OpenFile {
    path: PathBuf,
    reader: BufReader<File>,
    offset: u64,
    size: u64,
}

/// Whether a path is a file that begins as recordings do, or a folder with such files by their names.
#[must_use]
pub fn is_recording(path: &Path) -> bool {
    if path.is_dir() {
        return segments(path).is_ok_and(|paths| !paths.is_empty());
    }
    let mut start = [0; 8];
    // A pipe can be read once only, so nothing is tried of it.
    path.is_file()
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && beginning(&start) != Beginning::NotARecording
}

/// The files of a ring, the oldest first.
pub(crate) fn segments(folder: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    let entries = fs::read_dir(folder).trying("read", folder)?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.trying("read", folder)?.path();
        if is_segment(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

impl RecordingReader {
    /// Opens a recording.
    ///
    /// # Errors
    /// There is none.
    pub fn open(path: &Path) -> Result<RecordingReader, RecordingError> {
        let mut left = vec![path.to_owned()];
        if path.is_dir() {
            left = segments(path)?;
            if left.is_empty() {
                return Err(RecordingError::Empty { path: path.to_owned() });
            }
        }
        left.reverse();
        Ok(RecordingReader { left, open: None, cut: Vec::new() })
    }

    /// The files that end within a frame, and where they are cut off. Known of the files that were read to the end.
    #[must_use]
    pub fn cut_off(&self) -> &[(PathBuf, u64)] {
        &self.cut
    }

    /// The next frame; nothing at the end.
    ///
    /// # Errors
    /// A file cannot be read, or is not what was written.
    pub fn next_frame(&mut self) -> Result<Option<RecordingFrame>, RecordingError> {
        loop {
            let file = match &mut self.open {
                Some(file) => file,
                None => {
                    let Some(path) = self.left.pop() else { return Ok(None) };
                    let is_last = self.left.is_empty();
                    let Some(file) = OpenFile::open(&path, is_last)? else {
                        self.cut.push((path, 0));
                        continue;
                    };
                    self.open.insert(file)
                }
            };
            match file.next_frame()? {
                Some(frame) => return Ok(Some(frame)),
                None => {
                    if file.offset < file.size {
                        self.cut.push((file.path.clone(), file.offset));
                    }
                    self.open = None;
                }
            }
        }
    }
}

impl OpenFile {
    /// Opens a file of a recording; nothing if its process died before it had a header, and it is one of several.
    fn open(path: &Path, is_last: bool) -> Result<Option<OpenFile>, RecordingError> {
        let file = File::open(path).trying("open", path)?;
        let size = file.metadata().trying("read", path)?.len();
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut start = Vec::with_capacity(HEADER);
        reader.by_ref().take(HEADER as u64).read_to_end(&mut start).trying("read", path)?;
        if start.is_empty() && !is_last && path.extension().is_some_and(|ending| ending == ENDING) {
            return Ok(None);
        }
        let path = path.to_owned();
        match beginning(&start) {
            Beginning::Good => Ok(Some(OpenFile { path, reader, offset: HEADER as u64, size })),
            Beginning::OtherVersion(found) => Err(RecordingError::Version { path, found, known: VERSION }),
            Beginning::Damaged => {
                let found = "the header does not have its checksum".to_owned();
                Err(RecordingError::Damaged { path, offset: 0, found })
            }
            Beginning::NotARecording => Err(RecordingError::NotARecording { path }),
        }
    }

    fn next_frame(&mut self) -> Result<Option<RecordingFrame>, RecordingError> {
        let damaged = |path: &Path, offset, found| {
            Err(RecordingError::Damaged { path: path.to_owned(), offset, found })
        };
        let mut head = [0; FRAME_HEADER];
        if !self.fill(&mut head)? {
            return Ok(None);
        }
        let header = match FrameHeader::decode(&head) {
            Ok(header) => header,
            Err(found) => return damaged(&self.path, self.offset, found),
        };
        if self.size.saturating_sub(self.offset) < (FRAME_HEADER + header.stored) as u64 {
            return Ok(None);
        }
        let mut stored = vec![0; header.stored];
        if !self.fill(&mut stored)? {
            return Ok(None);
        }
        let offset = self.offset;
        self.offset += (FRAME_HEADER + header.stored) as u64;
        match header.unpack(stored) {
            Ok(bytes) => Ok(Some(RecordingFrame { path: self.path.clone(), offset, bytes })),
            Err(found) => damaged(&self.path, offset, found),
        }
    }

    /// Reads so many bytes, or says that the file ends before.
    fn fill(&mut self, into: &mut [u8]) -> Result<bool, RecordingError> {
        match self.reader.read_exact(into) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error).trying("read", &self.path),
        }
    }
}
