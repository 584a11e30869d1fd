//! A reader that is told the same as a scheduler, and decides nothing: for those who look at a cluster.
//!
//! Invariant: nothing is written. What may not be listed in all namespaces is followed in those in which it may be, and that is
//! told. Facts of a kind arrive in the order in which they happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use client::{Answer, Connection, ListRequest};
use cluster::change::Change;
use gates::Gates;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use schema::{Scope, table};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::drive::Message;
use crate::feed::{Feed, Feeds, Inbox, await_served, feeds, follow, follow_within};
use crate::kept::Original;

/// What is told of a cluster.
#[derive(Debug)]
pub enum Sighting {
    /// A fact, and what its object says to people.
    Changed(Change, Shown),
    /// Everything that was there at the beginning has been told.
    Complete,
    /// A kind may not be listed in all namespaces. It is followed in these, which may be none.
    Limited {
        /// The kind.
        kind: &'static str,
        /// The namespaces.
        namespaces: BTreeSet<String>,
        /// What the server said.
        why: String,
    },
    /// An object means nothing to us.
    Unreadable {
        /// The object.
        object: String,
        /// What is wrong with it.
        why: String,
    },
    /// Something failed, and is tried again.
    Trouble {
        /// What.
        why: String,
    },
}

/// What an object says to people, beyond what decisions need.
#[derive(Debug)]
pub enum Shown {
    /// Nothing.
    Nothing,
    /// The name and the status of a pod.
    Pod(Arc<Pod>),
    /// A claim.
    Claim(Arc<ResourceClaim>),
}

/// How many messages may wait; beyond that the streams of facts wait.
const INBOX_MAX: usize = 4096;

/// In how many namespaces a kind is followed, if not all may be.
const NAMESPACES_MAX: usize = 100;

/// How long to wait before a server is asked again that cannot say what may be read.
const ASK_AGAIN: Duration = Duration::from_secs(2);

/// Tells what is there and what changes until nobody listens. If not all namespaces may be read, these are tried as well as that of
/// the connection.
pub async fn observe(connection: &Connection, gates: Gates, namespaces: &[String], to: &Sender<Sighting>) {
    while let Err(why) = follow_readable(connection, gates, namespaces, to).await {
        if to.send(Sighting::Trouble { why }).await.is_err() {
            return;
        }
        sleep(ASK_AGAIN).await;
    }
}

async fn follow_readable(
    connection: &Connection,
    gates: Gates,
    namespaces: &[String],
    to: &Sender<Sighting>,
) -> Result<(), String> {
    let Feeds { served, unserved } =
        feeds(connection, gates, &()).await.map_err(|error| error.to_string())?;
    let (facts, inbox) = channel(INBOX_MAX);
    let inbox_of_streams = Inbox { to: facts, records: false, observes: true };
    let mut tasks = JoinSet::new();
    let mut readable = Readable { connection, candidates: candidates(connection, namespaces).await };
    // How many lists of a kind are still to come.
    let mut unread: BTreeMap<&'static str, usize> = BTreeMap::new();
    for feed in served {
        match readable.of(feed).await? {
            Extent::All => {
                unread.insert(feed.kind, 1);
                follow(connection, feed, inbox_of_streams.clone(), &mut tasks);
            }
            Extent::Only(namespaces, why) => {
                unread.insert(feed.kind, namespaces.len());
                for namespace in &namespaces {
                    let inbox = inbox_of_streams.clone();
                    follow_within(connection, feed, namespace.clone(), inbox, &mut tasks);
                }
                if to.send(Sighting::Limited { kind: feed.kind, namespaces, why }).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
    for feed in unserved {
        await_served(connection, feed, inbox_of_streams.clone(), &mut tasks);
    }
    // The receiver is gone, and needs no more facts.
    let _ = pass_on(inbox, unread, to).await;
    Ok(())
}

/// Passes on what the streams tell.
async fn pass_on(
    mut inbox: Receiver<Message>,
    mut unread: BTreeMap<&'static str, usize>,
    to: &Sender<Sighting>,
) -> Result<(), SendError<Sighting>> {
    unread.retain(|_, lists| *lists > 0);
    let mut is_complete = false;
    loop {
        if unread.is_empty() && !is_complete {
            is_complete = true;
            to.send(Sighting::Complete).await?;
        }
        let Some(message) = inbox.recv().await else { return Ok(()) };
        match message {
            Message::Changed(change, original, _) => {
                let shown = match original {
                    Some(Original::Pod(pod)) => Shown::Pod(pod),
                    Some(Original::Claim(_, claim)) => Shown::Claim(claim),
                    Some(Original::Class(_) | Original::Group(_) | Original::Context(_)) | None => {
                        Shown::Nothing
                    }
                };
                to.send(Sighting::Changed(change, shown)).await?;
            }
            Message::Synced(kind) | Message::ReadAgain(kind) => {
                if let Some(lists) = unread.get_mut(kind) {
                    *lists -= 1;
                }
                unread.retain(|_, lists| *lists > 0);
            }
            Message::NotServed(feed) => drop(unread.remove(feed.kind)),
            Message::Unreadable { object, why } => to.send(Sighting::Unreadable { object, why }).await?,
            Message::Interrupted { kind, why, .. } => {
                let why = format!("watch of {kind} failed; retrying: {why}");
                to.send(Sighting::Trouble { why }).await?;
            }
            Message::Served(_) | Message::Settled(..) | Message::Considered(..) => {}
        }
    }
}

/// Of which namespaces a kind may be read.
enum Extent {
    All,
    /// These, since the server refuses all.
    Only(BTreeSet<String>, String),
}

/// Finds out what may be read.
struct Readable<'r> {
    connection: &'r Connection,
    candidates: BTreeSet<String>,
}

impl Readable<'_> {
    async fn of(&mut self, feed: &Feed) -> Result<Extent, String> {
        let why = match self.refusal(feed, "").await? {
            None => return Ok(Extent::All),
            Some(why) => why,
        };
        let scope = table().kind(feed.row.api_version, feed.kind).map(|known| known.scope);
        let mut namespaces = BTreeSet::new();
        if scope == Some(Scope::Namespaced) {
            for namespace in self.candidates.clone() {
                if self.refusal(feed, &namespace).await?.is_none() {
                    namespaces.insert(namespace);
                }
            }
        }
        Ok(Extent::Only(namespaces, why))
    }

    /// Why a kind may not be read in a namespace, if it may not.
    async fn refusal(&self, feed: &Feed, namespace: &str) -> Result<Option<String>, String> {
        let (api_version, plural) = (feed.row.api_version, feed.row.plural);
        let request = ListRequest { api_version, plural, namespace, page_size: 1, ..ListRequest::default() };
        match self.connection.list_page(&request, None).await {
            Answer::Forbidden(why) => Ok(Some(why)),
            Answer::Done(_) | Answer::NotFound(_) | Answer::Gone(_) => Ok(None),
            other => Err(other.trouble().unwrap_or_default()),
        }
    }
}

/// The namespaces to look in where all are forbidden.
async fn candidates(connection: &Connection, namespaces: &[String]) -> BTreeSet<String> {
    let own = connection.default_namespace().to_owned();
    let mut names: BTreeSet<String> = namespaces.iter().cloned().chain([own]).collect();
    names.remove("");
    let request = ListRequest {
        api_version: "v1",
        plural: "namespaces",
        page_size: u32::try_from(NAMESPACES_MAX).unwrap_or(u32::MAX),
        ..ListRequest::default()
    };
    // If they may not be listed, those that are named have to do.
    if let Answer::Done(page) = connection.list_page(&request, None).await {
        let listed = page.items.iter().filter_map(|item| item["metadata"]["name"].as_str());
        names.extend(listed.take(NAMESPACES_MAX).map(str::to_owned));
    }
    names
}
