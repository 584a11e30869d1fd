//! A log that can be held at a change: from there on nothing is settled, as if the disk took its time, until it is let go.
//!
//! Whoever made the change has no answer and nobody sees it, but it is made. So a process can be killed exactly there.

use std::sync::Arc;

use anyhow::{Context, Result};
use parking_lot::Mutex;
use serde_json::Value;
use server::{Appended, Log, Settled};
use store::Record;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::cluster::PATIENCE;

/// A change that is made.
pub(crate) struct Made {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    /// The object as it is now; none if it was removed.
    pub(crate) object: Option<Value>,
}

type IsIt = Box<dyn Fn(&Made) -> bool + Send>;

/// A log that can be held.
#[derive(Clone, Default)]
pub struct Hold(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    is_held: watch::Sender<bool>,
}

#[derive(Default)]
enum State {
    /// Everything is settled at once.
    #[default]
    Open,
    /// Everything is settled at once until this change is made.
    Until(IsIt),
    /// Nothing is settled.
    Held(Vec<Settled>),
}

impl Hold {
    /// Holds everything from the first such change on.
    pub(crate) fn at(&self, is_it: impl Fn(&Made) -> bool + Send + 'static) {
        *self.0.state.lock() = State::Until(Box::new(is_it));
    }

    /// Waits until it is held.
    pub(crate) async fn reached(&self) -> Result<()> {
        let mut is_held = self.0.is_held.subscribe();
        let reached = timeout(PATIENCE, is_held.wait_for(|is_held| *is_held)).await;
        reached.context("the change was never made")?.context("the log is gone").map(drop)
    }

    /// Settles what was held, and all that comes.
    pub(crate) fn let_go(&self) {
        let mut state = self.0.state.lock();
        self.0.is_held.send_replace(false);
        if let State::Held(waiting) = std::mem::take(&mut *state) {
            // In their order, and before any that comes now.
            waiting.into_iter().for_each(|settled| settled(Ok(())));
        }
    }
}

impl Log for Hold {
    fn append(&self, _: u64, record: Vec<u8>, settled: Settled) -> Result<Appended, String> {
        let mut state = self.0.state.lock();
        if let State::Until(is_it) = &*state
            && made(&record).is_some_and(|made| is_it(&made))
        {
            *state = State::Held(Vec::new());
            self.0.is_held.send_replace(true);
        }
        match &mut *state {
            State::Held(waiting) => {
                waiting.push(settled);
                Ok(Appended::Waiting)
            }
            State::Open | State::Until(_) => Ok(Appended::Durable),
        }
    }
}

fn made(record: &[u8]) -> Option<Made> {
    let record = Record::decode(record).ok()?;
    let kind = record.resource().kind();
    let object = record.object().map(|stored| stored.value(&kind.api_version, &kind.kind));
    Some(Made { kind: &kind.kind, name: record.key().name.to_string(), object })
}
