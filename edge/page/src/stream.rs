//! Updates as server-sent events.
//!
//! Invariant: a page that does not keep up is told to load everything again, and its stream ends; nothing is kept for it.

use std::convert::Infallible;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::StatusCode;
use hyper::body::Frame;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use crate::answer::{PageResponse, streamed};

/// A stream that has nothing to say says so, so that pages notice when the server is away.
const BEAT: Duration = Duration::from_secs(5);

/// Something for every page.
#[derive(Clone, Debug)]
pub(crate) struct Message(Bytes);

/// Everything is to be loaded again.
pub(crate) static RELOAD: LazyLock<Message> = LazyLock::new(|| Message::event("reload", "{}"));

impl Message {
    /// An event with a document, which is one line.
    pub(crate) fn event(name: &str, text: &str) -> Message {
        Message(format!("event: {name}\ndata: {text}\n\n").into())
    }
}

/// What is next to say.
struct Stream {
    first: Option<Message>,
    updates: Option<Receiver<Message>>,
    stopped: watch::Receiver<bool>,
    _place: Arc<OwnedSemaphorePermit>,
}

/// The updates from now on, after a first message.
pub(crate) fn updates(
    first: Message,
    updates: Receiver<Message>,
    stopped: watch::Receiver<bool>,
    place: OwnedSemaphorePermit,
) -> PageResponse {
    let stream = Stream { first: Some(first), updates: Some(updates), stopped, _place: Arc::new(place) };
    let frames = unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((Ok::<_, Infallible>(Frame::data(bytes)), stream))
    });
    streamed(StatusCode::OK, "text/event-stream", BodyExt::boxed_unsync(StreamBody::new(frames)))
}

impl Stream {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(first) = self.first.take() {
            return Some(first.0);
        }
        let updates = self.updates.as_mut()?;
        let heard = tokio::select! {
            heard = timeout(BEAT, updates.recv()) => heard,
            _ = self.stopped.wait_for(|stop| *stop) => return None,
        };
        match heard {
            Ok(Ok(message)) => Some(message.0),
            Err(_) => Some(Bytes::from_static(b"event: beat\ndata: {}\n\n")),
            Ok(Err(RecvError::Lagged(_))) => {
                self.updates = None;
                Some(RELOAD.0.clone())
            }
            Ok(Err(RecvError::Closed)) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::{Semaphore, broadcast};

    use super::*;

    #[tokio::test]
    async fn a_page_that_is_behind_is_told_to_load_again_and_its_stream_ends() {
        let (sender, receiver) = broadcast::channel(4);
        let place = Arc::new(Semaphore::new(1)).acquire_owned().await.expect("a place");
        let (_stop, stopped) = watch::channel(false);
        let mut answer = updates(Message::event("hello", "{}"), receiver, stopped, place);
        for number in 0..9 {
            sender.send(Message::event("update", &number.to_string())).expect("it listens");
        }
        let mut heard = Vec::new();
        while let Some(frame) = answer.frame().await {
            let data = frame.expect("nothing fails").into_data().expect("data");
            heard.push(String::from_utf8(data.to_vec()).expect("text"));
        }
        assert_eq!(heard, ["event: hello\ndata: {}\n\n", "event: reload\ndata: {}\n\n"]);
    }
}
