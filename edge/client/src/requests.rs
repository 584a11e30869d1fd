//! Whoever wants to hear of each request that was sent: metrics, a log, and tests of what a part may do.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A request that was answered, or that has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent<'a> {
    /// Such as `GET`.
    pub method: &'a str,
    /// The address of the server.
    pub server: &'a str,
    /// Where it went on the server, with its parameters.
    pub path: &'a str,
    /// The code of the answer; 0 if there is none.
    pub code: u16,
    /// From the first byte that was sent until the answer was read, or until the first byte of a watch.
    pub took: Duration,
    /// How long it was held back before that by our own limit on requests per second.
    pub held_back: Duration,
}

/// Hears of each request. It is called where requests are made, so it must be quick.
pub trait Hearer: Send + Sync {
    /// A request was answered, or failed.
    fn sent(&self, request: &Sent<'_>);
}

/// Who hears of requests, if anyone does. Clones are the same.
#[derive(Clone, Default)]
pub struct Requests(Option<Arc<dyn Hearer>>);

impl Requests {
    /// Has this one hear of each request.
    pub fn heard_by(hearer: Arc<dyn Hearer>) -> Self {
        Self(Some(hearer))
    }

    pub(crate) fn tell(&self, request: &Sent<'_>) {
        if let Self(Some(hearer)) = self {
            hearer.sent(request);
        }
    }
}

impl fmt::Debug for Requests {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "heard" } else { "unheard" })
    }
}
