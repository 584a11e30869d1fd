//! A body that comes bit by bit, as lines.

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use kube::client::Body;

/// A line longer than this is no object: servers refuse objects far smaller.
const LINE_BYTES_MAX: usize = 64 << 20;

/// The lines of a body. Holds what has come of a line that is not complete.
pub(crate) struct Lines {
    body: Body,
    held: BytesMut,
    /// So many bytes of what is held are known to have no line's end.
    searched: usize,
}

impl Lines {
    pub(crate) fn new(body: Body) -> Self {
        Self { body, held: BytesMut::new(), searched: 0 }
    }

    /// The next line; `None` when the body has ended. May be dropped while it waits.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            if let Some(line) = self.held_line() {
                return Ok(Some(line));
            }
            if self.held.len() > LINE_BYTES_MAX {
                return Err(format!("a line has more than {LINE_BYTES_MAX} bytes"));
            }
            match self.body.frame().await {
                None => return Ok(None),
                Some(Err(error)) => return Err(error.to_string()),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        self.held.extend_from_slice(&bytes);
                    }
                }
            }
        }
    }

    fn held_line(&mut self) -> Option<Bytes> {
        loop {
            let Some(offset) = self.held[self.searched..].iter().position(|byte| *byte == b'\n') else {
                self.searched = self.held.len();
                return None;
            };
            let line = self.held.split_to(self.searched + offset).freeze();
            self.held.advance(1);
            self.searched = 0;
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}
