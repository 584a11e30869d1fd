//! Follows one kind: what is there and what changes, as facts for the world.
//!
//! Invariant: a kind that the server does not serve is as good as one without objects. It is asked for again from time to
//! time, because kinds can be added while a server runs.

use std::time::Duration;

use client::{Answer, Connection, Event, SomeObject, WatchOptions};
use futures_util::StreamExt;
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::SendError;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::kinds::{Followed, Kind, KindId, id};
use crate::world::{Change, World, name};

/// How long to wait before a server is asked again whether it serves a kind.
const ASK_AGAIN: Duration = Duration::from_secs(60);

/// How long to wait before a server is asked again that could not say so.
const ASK_SOON: Duration = Duration::from_secs(2);

/// Takes a fact in, and says what is otherwise now.
pub(crate) type Fact = Box<dyn FnOnce(&mut World) -> Option<Change> + Send>;

/// What comes of following.
pub(crate) enum Heard {
    /// Something is otherwise.
    Fact(Fact),
    /// Everything of a kind that was there has been said.
    Synced(KindId),
    /// The server does not have this kind.
    NotServed(KindId),
    /// A kind cannot be heard until it is tried again after a while.
    Interrupted(KindId, String, Duration),
    /// Something cannot be read; it goes on by itself.
    Trouble(String),
}

/// Follows a kind for as long as the task lives.
pub(crate) fn follow(kind: Kind, connection: &Connection, to: Sender<Heard>, tasks: &mut JoinSet<()>) {
    let connection = connection.clone();
    tasks.spawn(async move {
        // Whoever listens no more needs no more facts.
        let _ = tell(kind, &connection, &to).await;
    });
}

async fn tell(kind: Kind, connection: &Connection, to: &Sender<Heard>) -> Result<(), SendError<Heard>> {
    let Kind { id, plural, .. } = kind;
    loop {
        match connection.serves(id.0, plural).await {
            Answer::Done(true) => break,
            Answer::Done(false) => {
                to.send(Heard::NotServed(id)).await?;
                sleep(ASK_AGAIN).await;
            }
            other => {
                let why = other.trouble().unwrap_or_default();
                to.send(Heard::Trouble(format!("cannot discover whether {plural} are served: {why}")))
                    .await?;
                sleep(ASK_SOON).await;
            }
        }
    }
    to.send(fact(move |world: &mut World| {
        (kind.serve)(world);
        None
    }))
    .await?;
    let (all, options) = (client::Selectors::default(), WatchOptions::default());
    let mut stream = connection.list_and_watch_any(kind.readers, (id.0, plural, ""), &all, &options);
    while let Some(event) = stream.next().await {
        if let Some(heard) = (kind.heard)(event) {
            to.send(heard).await?;
        }
    }
    Ok(())
}

/// What an event about an object of a kind means.
pub(crate) fn heard<K: Followed>(event: Event<SomeObject>) -> Option<Heard> {
    Some(match event.of::<K>() {
        Event::Applied(object) => fact(move |world: &mut World| world.heard(object)),
        Event::Deleted(object) => {
            let (name, uid) = (name(&object), object.metadata().uid.clone());
            fact(move |world: &mut World| world.gone::<K>(&name, &uid))
        }
        Event::Vanished(gone) => {
            fact(move |world: &mut World| world.gone::<K>(&(gone.namespace, gone.name), &gone.uid))
        }
        Event::Synced { .. } => Heard::Synced(id::<K>()),
        Event::Progressed { .. } => return None,
        // What cannot be read is not touched either.
        Event::Unreadable { object, why } => {
            Heard::Trouble(format!("cannot read {} {}/{}: {why}", K::KIND, object.namespace, object.name))
        }
        Event::Interrupted { why, retry_in } => {
            Heard::Interrupted(id::<K>(), format!("watch of {} failed; retrying: {why}", K::PLURAL), retry_in)
        }
    })
}

fn fact(take: impl FnOnce(&mut World) -> Option<Change> + Send + 'static) -> Heard {
    Heard::Fact(Box::new(take))
}
