//! The loop of all simulated nodes: facts come in, and the deeds that [`Fleet`] says are done.
//!
//! Invariant: nothing is decided here. What is next, and when, follows from what `Fleet` was told.

use std::sync::Arc;
use std::time::Duration;

use client::{Clock, Connection, Event, Recorder, Resource, Selectors};
use controllers::simulated::Times;
use objects::core::node::Node;
use objects::core::pod::Pod;
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::Complaints;
use super::agenda::Subject;
use super::deeds::{self, Undone};
use super::fleet::{Begin, Fleet, Heard, Outcome};

/// How many facts may wait; beyond that their streams do.
const INBOX_MAX: usize = 1024;

/// How long a pod is left alone after a deed: what was done is told by the stream of pods, a moment later.
const ECHO: Duration = Duration::from_millis(20);

enum Fact {
    Node(Box<Event<Node>>),
    Pod(Box<Event<Pod>>),
}

/// What deeds are done with, and those that are under way.
struct Drive {
    connection: Connection,
    clock: Clock,
    recorder: Arc<Recorder>,
    fleet: Fleet,
    deeds: JoinSet<(Subject, Result<(), Undone>)>,
}

/// Simulates nodes without end.
pub(super) async fn drive(connection: &Connection, times: Times, complaints: &Complaints) {
    let (sender, mut inbox) = channel(INBOX_MAX);
    let mut streams = JoinSet::new();
    let from = || connection.clone();
    let node = |event| Fact::Node(Box::new(event));
    streams.spawn(from().follow(Resource::named("nodes"), Selectors::default(), node, sender.clone()));
    let placed = Selectors { fields: "spec.nodeName!=".to_owned(), ..Selectors::default() };
    let pod = |event| Fact::Pod(Box::new(event));
    streams.spawn(from().follow(Resource::named("pods"), placed, pod, sender));
    let clock = Clock::start();
    let mut drive = Drive {
        connection: connection.clone(),
        clock,
        recorder: Arc::new(Recorder::start(connection.clone(), clock)),
        fleet: Fleet::new(times, clock.now()),
        deeds: JoinSet::new(),
    };
    loop {
        let next = drive.fleet.next_time().map(|time| clock.instant(time));
        let heard = tokio::select! {
            Some(fact) = inbox.recv() => match fact {
                Fact::Node(event) => of_node(*event),
                Fact::Pod(event) => of_pod(*event),
            },
            Some(done) = drive.deeds.join_next() => {
                let (subject, result) = done.expect("deeds do not panic, and nobody cancels them");
                Some(Heard::Ended(subject, outcome(result, complaints)))
            }
            () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => Some(Heard::Time),
        };
        let Some(heard) = heard else { continue };
        for (subject, begin) in drive.fleet.step(clock.now(), heard) {
            drive.begin(subject, begin);
        }
    }
}

fn of_node(event: Event<Node>) -> Option<Heard> {
    match event {
        Event::Applied(node) => Some(Heard::NodeApplied(Arc::new(node))),
        Event::Deleted(node) => Some(Heard::NodeGone(node.metadata.name)),
        Event::Vanished(gone) => Some(Heard::NodeGone(gone.name)),
        _ => None,
    }
}

fn of_pod(event: Event<Pod>) -> Option<Heard> {
    match event {
        Event::Applied(pod) => Some(Heard::PodApplied(Arc::new(pod))),
        Event::Deleted(pod) => Some(Heard::PodGone((pod.metadata.namespace, pod.metadata.name))),
        Event::Vanished(gone) => Some(Heard::PodGone((gone.namespace, gone.name))),
        _ => None,
    }
}

fn outcome(result: Result<(), Undone>, complaints: &Complaints) -> Outcome {
    match result {
        Ok(()) => Outcome::Done,
        Err(Undone::Refused) => Outcome::Refused,
        Err(Undone::Failed(why)) => {
            complaints(&why);
            Outcome::Failed
        }
    }
}

impl Drive {
    fn begin(&mut self, subject: Subject, begin: Begin) {
        let (connection, clock, recorder) = (self.connection.clone(), self.clock, self.recorder.clone());
        self.deeds.spawn(async move {
            let done = match begin {
                Begin::Live(node) => deeds::live(&connection, clock, &node).await,
                Begin::Perform(pod, deed) => {
                    let done = deeds::perform(&connection, clock, &recorder, &pod, deed).await;
                    sleep(ECHO).await;
                    done
                }
            };
            (subject, done)
        });
    }
}
