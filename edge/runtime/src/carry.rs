//! Carries out one write of the engine: call after call, until it is done or cannot be done.
//!
//! Invariant: what is told to have failed has not happened and will not. An answer that got lost is made up for by looking
//! until it is certain what became of the call; a conflict by looking again, a bounded number of times.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use client::{Answer, Clock, Connection, Patch, Request, Resource, Verb};
use convert::claim_id;
use model::claim::ClaimId;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use objects::{Object, decode};
use scheduler::write::{About, Write, WriteOutcome};
use scheduling::request::{self, ApiCall, Next, RequestError, Seen};
use tokio::time::sleep;

use crate::kept::Sources;

/// How often a write is tried that the server could not carry out.
const TRIES_MAX: u32 = 8;

/// How often a write is made anew from the object as it is, since somebody else changed the object first. Each time that somebody
/// got ahead, and the next time it may be us.
const CONFLICTS_MAX: u32 = 32;

/// How long to wait when somebody else was faster for the second time; doubles with each.
const CONFLICT_PAUSE_FIRST: Duration = Duration::from_millis(5);
const CONFLICT_PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long to wait after the first failure that is not our fault; doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// One write on its way.
pub(crate) struct Carrier {
    pub(crate) connection: Connection,
    pub(crate) write: Write,
    pub(crate) sources: Sources,
    pub(crate) clock: Clock,
    pub(crate) allocation_times: bool,
    /// A call had no answer: it may have been carried out, or may be yet.
    pub(crate) unclear: bool,
}

/// What became of a write.
pub(crate) struct Carried {
    pub(crate) write: Write,
    pub(crate) outcome: WriteOutcome,
    /// The claim as the last answer had it.
    pub(crate) claim: Option<Arc<ResourceClaim>>,
    /// The context as the last answer had it.
    pub(crate) context: Option<Arc<PodSchedulingContext>>,
}

/// What a call came to.
enum Came {
    /// It was done, and this is the object now.
    Done(Bytes),
    /// Somebody else was faster, or the answer got lost: look again.
    Look,
    /// It cannot be done.
    Failed(String),
}

/// How often a call was made in vain.
#[derive(Default)]
struct Tries {
    /// The server could not carry it out.
    failed: u32,
    /// Somebody else was faster.
    conflicts: u32,
}

impl Carrier {
    /// Carries the write out.
    pub(crate) async fn carry_out(mut self) -> Carried {
        let outcome = match self.calls().await {
            Ok(()) => WriteOutcome::Done,
            Err(why) => {
                self.undo().await;
                WriteOutcome::Failed(why)
            }
        };
        let is_done = outcome == WriteOutcome::Done;
        let claim = self.sources.claim.filter(|_| is_done);
        // One that was deleted says nothing any more.
        let is_said = is_done && matches!(self.write, Write::Negotiate { .. });
        let context = self.sources.context.filter(|_| is_said);
        Carried { write: self.write, outcome, claim, context }
    }

    async fn calls(&mut self) -> Result<(), String> {
        // What we know came by a watch and may be old. Before it is said that something cannot be done, we look.
        let mut looked = false;
        let mut tries = Tries::default();
        loop {
            let (call, is_last) = match self.seen(request::next) {
                // What a note says is read by people; if it was said a moment ago that is enough.
                Ok(Next::Done) if looked || self.is_note() => return Ok(()),
                Ok(Next::Then(call)) => (call, false),
                Ok(Next::Last(call)) => (call, true),
                // There is nobody left to tell.
                Err(RequestError::Gone) if looked && self.is_remark() => return Ok(()),
                Err(error) if looked => return Err(error.to_string()),
                Ok(Next::Done) | Err(_) => {
                    self.look().await?;
                    looked = true;
                    continue;
                }
            };
            match self.perform(&call, &mut tries).await {
                Came::Done(body) => {
                    let taken = self.take(&call, &body);
                    if is_last {
                        return Ok(());
                    }
                    taken?;
                }
                Came::Failed(why) => return Err(why),
                Came::Look => {
                    self.look().await?;
                    looked = true;
                }
            }
        }
    }

    /// Takes back what a write has made that could not be done to the end.
    async fn undo(&mut self) {
        let mut tries = Tries::default();
        for _ in 0..TRIES_MAX {
            let (Next::Then(call) | Next::Last(call)) = self.seen(request::undo) else { return };
            match self.perform(&call, &mut tries).await {
                Came::Done(body) if call.verb != request::Verb::Delete => {
                    if self.take(&call, &body).is_err() {
                        return;
                    }
                }
                Came::Look if self.look().await.is_ok() => {}
                // It is gone, or the pod that owns it takes it along.
                _ => return,
            }
        }
    }

    /// Asks about the write and what it is made from.
    fn seen<T>(&self, ask: impl FnOnce(&Write, &Seen<'_>) -> T) -> T {
        let classes = &self.sources.classes;
        let seen = Seen {
            claim: self.sources.claim.as_deref(),
            pod: self.sources.pod.as_deref(),
            users: &self.sources.users,
            group: self.sources.group.as_deref(),
            context: self.sources.context.as_deref(),
            class: &|name| classes.get(name).map(Arc::as_ref),
            now: self.clock.now(),
            allocation_times: self.allocation_times,
        };
        ask(&self.write, &seen)
    }

    /// Whether the write only tells people something about a pod or a group.
    fn is_remark(&self) -> bool {
        self.is_note() || matches!(self.write, Write::Nominate { .. })
    }

    fn is_note(&self) -> bool {
        matches!(self.write, Write::Note { .. } | Write::NoteGroup { .. })
    }

    /// Makes a call, and waits as long as the server wants us to if it could not be made, or as long as others may need who were
    /// faster.
    async fn perform(&mut self, call: &ApiCall, tries: &mut Tries) -> Came {
        let answer = match call.kind {
            ResourceClaim::KIND => send::<ResourceClaim>(&self.connection, "resourceclaims", call).await,
            Pod::KIND => send::<Pod>(&self.connection, "pods", call).await,
            PodGroup::KIND => send::<PodGroup>(&self.connection, "podgroups", call).await,
            PodSchedulingContext::KIND => {
                send::<PodSchedulingContext>(&self.connection, "podschedulingcontexts", call).await
            }
            other => return Came::Failed(format!("nobody knows how to write a {other}")),
        };
        self.unclear |= matches!(&answer, Answer::Unavailable(why) if why.may_have_happened());
        // Only the object can tell what became of a call that had no answer.
        let goes_on = |count: u32, max: u32| self.unclear || count + 1 < max;
        match answer {
            Answer::Done(body) => Came::Done(body),
            Answer::NotFound(_) if call.verb == request::Verb::Delete => Came::Done(Bytes::new()),
            Answer::NotFound(_) if self.is_remark() => Came::Done(Bytes::new()),
            // What the API finds a name for could be made twice, so it is not tried again if the answer got lost.
            Answer::Unavailable(why) if call.name.is_empty() => Came::Failed(why.to_string()),
            Answer::Conflict(_) | Answer::AlreadyExists(_) if goes_on(tries.conflicts, CONFLICTS_MAX) => {
                let pause = CONFLICT_PAUSE_FIRST * 2_u32.pow(tries.conflicts.saturating_sub(1).min(7));
                if tries.conflicts > 0 {
                    sleep(pause.min(CONFLICT_PAUSE_MAX)).await;
                }
                tries.conflicts += 1;
                Came::Look
            }
            answer @ (Answer::TooManyRequests { .. } | Answer::Unavailable(_))
                if goes_on(tries.failed, TRIES_MAX) =>
            {
                sleep(pause(&answer, tries.failed)).await;
                tries.failed += 1;
                Came::Look
            }
            other => Came::Failed(other.trouble().unwrap_or_default()),
        }
    }

    /// Reads the object that the write is about, and what was made for it.
    async fn look(&mut self) -> Result<(), String> {
        let mut tries = 0;
        loop {
            let answer = self.read().await;
            let pause = pause(&answer, tries);
            match answer {
                Answer::Done(()) => return Ok(()),
                Answer::Unavailable(_) | Answer::TooManyRequests { .. }
                    if self.unclear || tries < TRIES_MAX =>
                {
                    tries += 1;
                    sleep(pause).await;
                }
                other => return Err(other.trouble().unwrap_or_default()),
            }
        }
    }

    async fn read(&mut self) -> Answer<()> {
        let pod = match self.write.about() {
            About::Claim(id) => {
                let id = id.clone();
                return match self.read_claim(&id).await {
                    Answer::Done(()) => self.read_users().await,
                    other => other,
                };
            }
            About::Group(id) => {
                let groups = Resource::<PodGroup>::named("podgroups").within(&id.namespace);
                let found = found(self.connection.get(&groups, &id.name).await);
                return found.map(|group| self.sources.group = group);
            }
            About::Context { id, .. } => {
                let contexts = Resource::<PodSchedulingContext>::named("podschedulingcontexts");
                let found = found(self.connection.get(&contexts.within(&id.namespace), &id.name).await);
                return found.map(|context| self.sources.context = context);
            }
            About::Pod { id, .. } => id.clone(),
        };
        let made = self.sources.claim.as_deref().filter(|_| matches!(self.write.about(), About::Pod { .. }));
        if let Some(made) = made.map(claim_id) {
            match self.read_claim(&made).await {
                Answer::Done(()) => {}
                other => return other,
            }
        }
        let pods = Resource::<Pod>::named("pods").within(&pod.namespace);
        found(self.connection.get(&pods, &pod.name).await).map(|pod| self.sources.pod = pod)
    }

    async fn read_users(&mut self) -> Answer<()> {
        self.sources.users.clear();
        let claim = self.sources.claim.as_deref();
        for user in claim.map(|claim| request::users(&self.write, claim)).unwrap_or_default() {
            let pods = Resource::<Pod>::named("pods").within(&user.namespace);
            match found(self.connection.get(&pods, &user.name).await) {
                Answer::Done(pod) => self.sources.users.extend(pod),
                other => return other.map(drop),
            }
        }
        Answer::Done(())
    }

    async fn read_claim(&mut self, id: &ClaimId) -> Answer<()> {
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within(&id.namespace);
        found(self.connection.get(&claims, &id.name).await).map(|claim| self.sources.claim = claim)
    }

    /// Goes on from the object that a call gave.
    fn take(&mut self, call: &ApiCall, body: &[u8]) -> Result<(), String> {
        let unreadable = |error: objects::Unreadable| error.to_string();
        if call.verb == request::Verb::Delete || call.subresource == Some("binding") {
            // These answer with something else than the object.
            return Ok(());
        }
        match call.kind {
            Pod::KIND => self.sources.pod = Some(Arc::new(decode(body).map_err(unreadable)?)),
            PodGroup::KIND => self.sources.group = Some(Arc::new(decode(body).map_err(unreadable)?)),
            PodSchedulingContext::KIND => {
                self.sources.context = Some(Arc::new(decode(body).map_err(unreadable)?));
            }
            _ => self.sources.claim = Some(Arc::new(decode(body).map_err(unreadable)?)),
        }
        Ok(())
    }
}

/// The object, if it is there.
fn found<K>(answer: Answer<K>) -> Answer<Option<Arc<K>>> {
    match answer {
        Answer::NotFound(_) => Answer::Done(None),
        other => other.map(|object| Some(Arc::new(object))),
    }
}

/// How long to wait before the next try.
fn pause<T>(answer: &Answer<T>, tries: u32) -> Duration {
    answer.retry_after().unwrap_or(PAUSE_FIRST * 2_u32.pow(tries.min(6))).min(PAUSE_MAX)
}

async fn send<K: Object>(connection: &Connection, plural: &'static str, call: &ApiCall) -> Answer<Bytes> {
    let verb = match call.verb {
        request::Verb::Create => Verb::Create,
        request::Verb::Update => Verb::Update,
        request::Verb::Patch => Verb::Patch(Patch::Strategic),
        request::Verb::Delete => Verb::Delete,
    };
    let request = Request { verb, name: &call.name, subresource: call.subresource };
    connection.request(&Resource::<K>::named(plural).within(&call.namespace), &request, &call.body).await
}
