//! Lists that stay current: what is there, then what changes.
//!
//! A consumer that keeps what is applied and drops what is deleted or vanished has, after each event, a state that the
//! server was in or is on its way to; at each `Synced` it has exactly the server's. No event is delivered twice, also
//! not when the connection breaks or the whole has to be listed again.

mod any;
mod envelope;
mod follower;
mod known;
mod lines;

use std::time::Duration;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt, stream};
use objects::Object;
use tokio::sync::mpsc::Sender;

use crate::connection::Connection;
use crate::resource::{Resource, untyped_path};
pub use any::{AnyObject, Readers, SomeObject};
use follower::Follower;

/// What a list that stays current says. The version of an object is in its metadata.
#[derive(Debug)]
pub enum Event<K> {
    /// The object is new or has changed.
    Applied(K),
    /// The object was deleted or is no longer selected. This is its last state.
    Deleted(K),
    /// The object was deleted while nobody was looking.
    Vanished(Gone),
    /// Everything that is there at this version has been said. Comes after the first list, and again after each other.
    Synced {
        /// The version of the list.
        resource_version: String,
    },
    /// Nothing that concerns us has happened up to this version.
    Progressed {
        /// The version up to which everything has been said.
        resource_version: String,
    },
    /// An object is there that we cannot read. What was said about it before is out of date.
    Unreadable {
        /// Which one.
        object: Gone,
        /// What is wrong with it.
        why: String,
    },
    /// The server cannot be heard for a while; the stream goes on by itself.
    Interrupted {
        /// What went wrong.
        why: String,
        /// When it is tried again.
        retry_in: Duration,
    },
}

/// An object by its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gone {
    /// The namespace; empty if the kind has none.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The uid, which tells it from others of its name before and after.
    pub uid: String,
}

/// Which objects to list.
#[derive(Clone, Debug, Default)]
pub struct Selectors {
    /// By labels, as `kubectl -l` writes it; empty for all.
    pub labels: String,
    /// By fields, such as `spec.nodeName=`; empty for all.
    pub fields: String,
}

/// How to list and watch.
#[derive(Clone, Debug)]
pub struct WatchOptions {
    /// Have the list as a stream where the server can do that.
    pub streamed: bool,
    /// How many objects to have in one answer, where the list comes in pages.
    pub page_size: u32,
    /// A watch that has said nothing for so long is given up as dead. Servers say something each minute.
    pub idle_timeout: Duration,
    /// A watch is to end by itself after this time or up to twice of it.
    pub lifetime: Duration,
    /// How long to wait after the first failure; doubles with each.
    pub backoff_first: Duration,
    /// How long to wait at most.
    pub backoff_max: Duration,
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            streamed: true,
            page_size: 500,
            idle_timeout: Duration::from_secs(150),
            lifetime: Duration::from_secs(300),
            backoff_first: Duration::from_millis(200),
            backoff_max: Duration::from_secs(30),
        }
    }
}

impl Connection {
    /// Says what is there and what changes, without end.
    ///
    /// Nothing is read ahead of the consumer but what the socket holds and, of a list in pages, one page; a slow consumer
    /// slows the server down. Dropping a pending `next` loses nothing.
    pub fn list_and_watch<K: Object + Send + 'static>(
        &self,
        resource: &Resource<K>,
        selectors: &Selectors,
        options: &WatchOptions,
    ) -> impl Stream<Item = Event<K>> + Send + 'static + use<K> {
        self.follow_path(Readers::of::<K>(), resource.path(), selectors, options).map(Event::of::<K>)
    }

    /// The same for a kind that only the caller knows, by the names that paths have for it: `v1` and `pods`, in a namespace or, if
    /// that is empty, in all.
    pub fn list_and_watch_any(
        &self,
        readers: Readers,
        (api_version, plural, namespace): (&str, &str, &str),
        selectors: &Selectors,
        options: &WatchOptions,
    ) -> BoxStream<'static, Event<SomeObject>> {
        self.follow_path(readers, untyped_path(api_version, plural, namespace), selectors, options)
    }

    fn follow_path(
        &self,
        readers: Readers,
        path: String,
        selectors: &Selectors,
        options: &WatchOptions,
    ) -> BoxStream<'static, Event<SomeObject>> {
        let follower = Follower::new(readers, self.clone(), path, selectors, options.clone());
        let events = stream::unfold(follower, |mut follower| async move {
            let event = follower.next().await;
            Some((event, follower))
        });
        events.boxed()
    }

    /// Sends what is there and what changes to somebody, in their words, until they listen no more.
    pub async fn follow<K: Object + Send + 'static, M: Send>(
        self,
        resource: Resource<K>,
        selectors: Selectors,
        word: fn(Event<K>) -> M,
        to: Sender<M>,
    ) {
        let mut stream = Box::pin(self.list_and_watch(&resource, &selectors, &WatchOptions::default()));
        while let Some(event) = stream.next().await {
            if to.send(word(event)).await.is_err() {
                return;
            }
        }
    }
}
