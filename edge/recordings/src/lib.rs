//! Files of recordings: lines of text in compressed frames with checksums, in one file or in a ring of files of bounded size.
//!
//! What a line says is not known here: whoever records gives a [`LineWriter`].
//!
//! Invariant: recording never blocks who records. What cannot be written ends the recording and says why; what was written can be
//! read up to the last whole frame, whatever became of the process.

mod error;
mod frame;
mod reader;
mod recorder;
mod writer;

pub use error::RecordingError;
pub use reader::{RecordingFrame, RecordingReader, is_recording};
pub use recorder::Recorder;
pub use writer::{LineWriter, Target};
