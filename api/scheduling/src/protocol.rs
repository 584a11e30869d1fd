//! How one write of the engine is carried out: what was asked and what was heard of it gives what is to be done next.
//!
//! Invariant: what is told to have failed has not happened and will not. An answer that got lost is made up for by reading
//! the object until it is certain what became of the call, and a conflict by reading it again, a bounded number of times.
//! The server refuses a second writing of the same version, so one of two such calls is carried out at most; what the API
//! is to find a name for is never sent again once its answer got lost.
//!
//! Whoever has a [`Delivery`] does what each [`DeliveryAction`] says, and tells it what came of that:
//!
//! | state | heard | what it means | next |
//! |---|---|---|---|
//! | Ready | Begun | the first call follows from the objects as they were told; if nothing does, they are read first | Calling, Reading, Settled |
//! | Calling | Done | the last call is the end; others are followed by the next, made from the object that was answered | Calling, Reading, Settled |
//! | Calling | Unreadable | it was done; unless it was the last, the object is read after a while | Calling, Pausing, Settled |
//! | Calling | NotFound | nobody is left to delete or to tell something; anything else has failed | Calling, Settled |
//! | Calling | Conflict | somebody else was faster: read the object, after a while if it is not the first time | Calling, Pausing, Reading, Settled |
//! | Calling | Busy | not now: read the object after a while | Calling, Pausing, Settled |
//! | Calling | Lost | it may have been done: read the object after a while, until it is known; without a name it has failed | Pausing, Settled |
//! | Calling | Refused | it has failed, and what it made is taken back; a remark is refused of what it is no longer true of, so look once | Calling, Reading, Settled |
//! | Pausing | Rested | go on with what is to be read | Reading |
//! | Reading | Done | read what else there is to read, and then make the next call | Calling, Reading, Settled |
//! | Reading | NotFound | the same: that it is not there is what was read | Calling, Reading, Settled |
//! | Reading | Unreadable, Busy, Lost | read it again after a while | Calling, Pausing, Settled |
//! | Reading | Conflict, Refused | it has failed, and what it made is taken back | Calling, Settled |
//!
//! A write that has failed makes calls once more if there is something to take back. Nothing is heard once it is settled.

mod object;
mod settled;
mod sources;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use convert::claim_id;
use model::timestamp::Timestamp;
use objects::Object as _;
use objects::resource::claim::ResourceClaim;
use scheduler::write::{About, Write, WriteOutcome};

use crate::request::{self, ApiCall, Next, RequestError, Verb};

pub use object::{Object, ObjectRef};
pub use settled::Settled;
pub use sources::{Classes, Sight, Sources};

/// How long to wait after the second conflict; doubles with each.
const CONFLICT_PAUSE_FIRST: Duration = Duration::from_millis(5);
const CONFLICT_PAUSE_MAX: Duration = Duration::from_millis(500);

/// How long to wait after the first failure that is not our fault; doubles with each.
const PAUSE_FIRST: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// How a write is carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// How often a call or a reading is tried again that the server could not carry out.
    pub retries_max: u32,
    /// How often a write is made anew from the object as it is, since another client changed the object first. Each time that
    /// client got ahead, and the next time it may be us.
    pub conflicts_max: u32,
    /// Whether allocations say when they were made, as binding conditions need it.
    pub allocation_times: bool,
    /// Varies pauses, so that clients that met at an object do not meet there again. Each write has its own.
    pub seed: u64,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms { retries_max: 7, conflicts_max: 31, allocation_times: false, seed: 0 }
    }
}

/// What is to be done next.
#[derive(Clone, Debug)]
pub enum DeliveryAction {
    /// Make this call, and tell what was answered.
    Call(Box<ApiCall>),
    /// Read this, and tell what was answered.
    Read(ObjectRef),
    /// Wait for so long, and say so.
    Pause(Duration),
    /// It is known what became of the write.
    Settled(Box<Settled>),
}

/// What came of an action.
#[derive(Clone, Debug)]
pub enum Heard {
    /// Nothing was done yet.
    Begun,
    /// The pause is over.
    Rested,
    /// A call or a reading was answered, or will not be.
    Answer(CallOutcome),
}

/// What became of a call or a reading.
#[derive(Clone, Debug)]
pub enum CallOutcome {
    /// It was done, and this is the object now; nothing, if the call answers with something else: see [`ApiCall::gives_object`].
    Done(Option<Object>),
    /// It was done, and the answer cannot be read.
    Unreadable(String),
    /// There is no such object.
    NotFound(String),
    /// The object has changed since it was read, or is another, or is there already.
    Conflict(String),
    /// It was not done, and may be later.
    Busy {
        /// What happened.
        why: String,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// It may have been done, or may be yet.
    Lost {
        /// What happened.
        why: String,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// It was not done, and never will be.
    Refused(String),
}

/// One write on its way.
#[derive(Clone, Debug)]
pub struct Delivery {
    write: Write,
    sources: Sources,
    terms: Terms,
    state: State,
    aim: Aim,
    tally: Tally,
    /// A call had no answer: it may have been carried out, or may be yet. Only the object can tell, however long that takes.
    unclear: bool,
}

/// What is waited for.
#[derive(Clone, Debug)]
enum State {
    /// Nothing was asked for yet.
    Ready,
    /// The answer to a call.
    Calling(Sent),
    /// The end of a pause, after which this is read.
    Pausing(VecDeque<ObjectRef>),
    /// An object, and others after it.
    Reading(ObjectRef, VecDeque<ObjectRef>),
    /// Nothing.
    Settled,
}

/// Where it goes.
#[derive(Clone, Debug)]
enum Aim {
    /// The write is to be done.
    Do,
    /// It cannot be done, and what it has made is to be taken back: a bounded number of calls, for the pod that owns it takes
    /// along what is left.
    Undo { why: String, calls: u32 },
}

/// A call that was sent, as far as it matters for its answer.
#[derive(Clone, Copy, Debug)]
struct Sent {
    verb: Verb,
    kind: &'static str,
    is_named: bool,
    is_last: bool,
}

/// How often something was tried in vain.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    /// The server could not carry out a call.
    failed: u32,
    /// Another client wrote the object first.
    conflicts: u32,
    /// The server could not show an object.
    unread: u32,
    /// How often it paused.
    pauses: u64,
    /// A call was refused, and the object was read once more since.
    refused: bool,
}

impl Delivery {
    /// A write that nothing was done for yet, and what is known of the objects that it is made from.
    #[must_use]
    pub fn new(write: Write, sources: Sources, terms: Terms) -> Delivery {
        let (state, aim) = (State::Ready, Aim::Do);
        Delivery { write, sources, terms, state, aim, tally: Tally::default(), unclear: false }
    }

    /// The write.
    #[must_use]
    pub fn write(&self) -> &Write {
        &self.write
    }

    /// The write, when it is over.
    #[must_use]
    pub fn into_write(self) -> Write {
        self.write
    }

    /// What comes next after what was heard.
    ///
    /// # Panics
    /// When something is heard that nobody waits for.
    pub fn step(&mut self, heard: Heard, now: Timestamp) -> DeliveryAction {
        match (std::mem::replace(&mut self.state, State::Settled), heard) {
            (State::Ready, Heard::Begun) => self.ask(now),
            (State::Calling(sent), Heard::Answer(answer)) => self.answered(sent, answer, now),
            (State::Pausing(ahead), Heard::Rested) => {
                assert!(!ahead.is_empty(), "a pause is followed by a reading");
                self.read(ahead, now)
            }
            (State::Reading(which, ahead), Heard::Answer(answer)) => self.seen(which, ahead, answer, now),
            (state, heard) => unreachable!("{heard:?} is heard while this is waited for: {state:?}"),
        }
    }

    /// Makes the next call, or ends it if there is none.
    fn ask(&mut self, now: Timestamp) -> DeliveryAction {
        if let Aim::Undo { why, calls } = &mut self.aim {
            let undo = self.sources.seen(now, self.terms, |seen| request::undo(&self.write, seen));
            return match undo {
                Next::Then(call) | Next::Last(call) if *calls <= self.terms.retries_max => {
                    *calls += 1;
                    self.call(call, false)
                }
                _ => {
                    let why = std::mem::take(why);
                    self.settle(WriteOutcome::Failed(why))
                }
            };
        }
        let users = self.sources.unread_users(&self.write);
        if !users.is_empty() {
            self.sources.users = Some(Vec::new());
            return self.read(users, now);
        }
        // What we know came by a watch and may be old. Before it is said that something cannot be done, we look.
        let is_sure = self.sources.is_sure(&self.write);
        match self.sources.seen(now, self.terms, |seen| request::next(&self.write, seen)) {
            Ok(Next::Then(call)) => self.call(call, false),
            Ok(Next::Last(call)) => self.call(call, true),
            // What a note says is read by people; if it was said a moment ago that is enough.
            Ok(Next::Done) if is_sure || is_note(&self.write) => self.settle(WriteOutcome::Done),
            // There is nobody left to tell.
            Err(RequestError::Gone) if is_sure && is_remark(&self.write) => self.settle(WriteOutcome::Done),
            Err(error) if is_sure => self.fail(error.to_string(), now),
            Ok(Next::Done) | Err(_) => {
                let ahead = self.look();
                self.read(ahead, now)
            }
        }
    }

    fn call(&mut self, call: ApiCall, is_last: bool) -> DeliveryAction {
        let ApiCall { verb, kind, ref name, .. } = call;
        self.state = State::Calling(Sent { verb, kind, is_named: !name.is_empty(), is_last });
        DeliveryAction::Call(Box::new(call))
    }

    fn answered(&mut self, sent: Sent, answer: CallOutcome, now: Timestamp) -> DeliveryAction {
        match answer {
            CallOutcome::Done(object) => {
                self.take(sent, object);
                self.go_on(sent, now)
            }
            CallOutcome::Unreadable(_) if sent.is_last => self.go_on(sent, now),
            CallOutcome::NotFound(why) => {
                let is_claim = sent.kind == ResourceClaim::KIND;
                if is_claim {
                    self.sources.lose_claim(&self.write);
                }
                match sent.verb {
                    Verb::Delete => self.go_on(sent, now),
                    _ if is_remark(&self.write) => self.settle(WriteOutcome::Done),
                    _ => self.fail(why, now),
                }
            }
            CallOutcome::Conflict(_) if self.unclear || self.tally.conflicts < self.terms.conflicts_max => {
                let doublings = self.tally.conflicts.saturating_sub(1).min(7);
                let pause = (CONFLICT_PAUSE_FIRST * 2_u32.pow(doublings)).min(CONFLICT_PAUSE_MAX);
                let is_first = self.tally.conflicts == 0;
                self.tally.conflicts += 1;
                let ahead = self.look();
                if is_first { self.read(ahead, now) } else { self.pause(pause, ahead) }
            }
            CallOutcome::Lost { why, .. } if !sent.is_named => {
                // What the API finds a name for could be made twice.
                self.unclear = true;
                self.fail(why, now)
            }
            CallOutcome::Lost { retry_after, .. } => {
                self.unclear = true;
                self.try_again(retry_after)
            }
            CallOutcome::Unreadable(why) if !sent.is_named => self.fail(why, now),
            CallOutcome::Unreadable(_) if self.has_tries() => self.try_again(None),
            // The pod may have been bound since it was seen, and then there is nothing more to say of it. One look tells.
            CallOutcome::Refused(_) if is_remark(&self.write) && !self.tally.refused => {
                self.tally.refused = true;
                let ahead = self.look();
                self.read(ahead, now)
            }
            CallOutcome::Busy { retry_after, .. } if self.has_tries() => self.try_again(retry_after),
            CallOutcome::Unreadable(why)
            | CallOutcome::Busy { why, .. }
            | CallOutcome::Conflict(why)
            | CallOutcome::Refused(why) => self.fail(why, now),
        }
    }

    fn has_tries(&self) -> bool {
        self.unclear || self.tally.failed < self.terms.retries_max
    }

    /// A call was carried out, or there is nothing left to do it to.
    fn go_on(&mut self, sent: Sent, now: Timestamp) -> DeliveryAction {
        match &mut self.aim {
            Aim::Do if sent.is_last => self.settle(WriteOutcome::Done),
            Aim::Undo { why, .. } if sent.verb == Verb::Delete => {
                let why = std::mem::take(why);
                self.settle(WriteOutcome::Failed(why))
            }
            Aim::Do | Aim::Undo { .. } => self.ask(now),
        }
    }

    /// Looks after a while what became of a call that may have been carried out, or was not.
    fn try_again(&mut self, retry_after: Option<Duration>) -> DeliveryAction {
        let pause = pause(retry_after, self.tally.failed);
        self.tally.failed += 1;
        let ahead = self.look();
        self.pause(pause, ahead)
    }

    fn pause(&mut self, time: Duration, ahead: VecDeque<ObjectRef>) -> DeliveryAction {
        self.state = State::Pausing(ahead);
        self.tally.pauses += 1;
        let percent = 50 + mixed(self.terms.seed.wrapping_add(self.tally.pauses)) % 101;
        DeliveryAction::Pause(time * u32::try_from(percent).unwrap_or(100) / 100)
    }

    /// What is to be read to know how things are: what was made for the object of the write, and the object.
    fn look(&mut self) -> VecDeque<ObjectRef> {
        self.tally.unread = 0;
        let object = match self.write.about() {
            About::Claim(id) => ObjectRef::Claim(id.clone()),
            About::Pod { id, .. } => ObjectRef::Pod(id.clone()),
            About::Group(id) => ObjectRef::Group(id.clone()),
            About::Context { id, .. } => ObjectRef::Context(id.clone()),
            About::Volume(name) => ObjectRef::Volume(name.clone()),
            About::VolumeClaim(id) => ObjectRef::VolumeClaim(id.clone()),
        };
        let is_made = |_: &&ResourceClaim| matches!(object, ObjectRef::Pod(_));
        let made = self.sources.claim.get().filter(is_made).map(|claim| ObjectRef::Claim(claim_id(claim)));
        made.into_iter().chain([object]).collect()
    }

    fn read(&mut self, mut ahead: VecDeque<ObjectRef>, now: Timestamp) -> DeliveryAction {
        let Some(next) = ahead.pop_front() else { return self.ask(now) };
        self.state = State::Reading(next.clone(), ahead);
        DeliveryAction::Read(next)
    }

    /// Something was read, or could not be.
    fn seen(
        &mut self,
        which: ObjectRef,
        mut ahead: VecDeque<ObjectRef>,
        answer: CallOutcome,
        now: Timestamp,
    ) -> DeliveryAction {
        match answer {
            CallOutcome::Done(Some(object)) => {
                self.see(&which, Some(object));
                ahead.extend(self.users_after(&which));
                self.read(ahead, now)
            }
            CallOutcome::NotFound(_) => {
                self.see(&which, None);
                self.read(ahead, now)
            }
            CallOutcome::Unreadable(_) | CallOutcome::Busy { .. } | CallOutcome::Lost { .. }
                if self.unclear || self.tally.unread < self.terms.retries_max =>
            {
                let retry_after = match answer {
                    CallOutcome::Busy { retry_after, .. } | CallOutcome::Lost { retry_after, .. } => {
                        retry_after
                    }
                    _ => None,
                };
                let time = pause(retry_after, self.tally.unread);
                self.tally.unread += 1;
                ahead.push_front(which);
                self.pause(time, ahead)
            }
            CallOutcome::Unreadable(why)
            | CallOutcome::Busy { why, .. }
            | CallOutcome::Lost { why, .. }
            | CallOutcome::Conflict(why)
            | CallOutcome::Refused(why) => self.fail(why, now),
            CallOutcome::Done(None) => unreachable!("a reading that is done gives its object"),
        }
    }

    /// The pods that have to be read after a claim.
    fn users_after(&mut self, read: &ObjectRef) -> VecDeque<ObjectRef> {
        if !matches!((read, self.write.about()), (ObjectRef::Claim(_), About::Claim(_))) {
            return VecDeque::new();
        }
        self.sources.users = None;
        let users = self.sources.unread_users(&self.write);
        self.sources.users = Some(Vec::new());
        users
    }

    /// Takes in what was read, or that it is not there.
    fn see(&mut self, which: &ObjectRef, object: Option<Object>) {
        let sources = &mut self.sources;
        match (which, object) {
            (ObjectRef::Claim(_), Some(Object::Claim(claim))) => sources.find_claim(&self.write, claim),
            (ObjectRef::Claim(_), None) => sources.lose_claim(&self.write),
            (ObjectRef::Pod(_), Some(Object::Pod(user))) if matches!(self.write.about(), About::Claim(_)) => {
                sources.users.get_or_insert_default().push(user);
            }
            // A user that is gone does nothing any more.
            (ObjectRef::Pod(_), None) if matches!(self.write.about(), About::Claim(_)) => {}
            (ObjectRef::Pod(_), Some(Object::Pod(pod))) => sources.pod = Sight::Heard(pod),
            (ObjectRef::Pod(_), None) => sources.pod = Sight::Missing,
            (ObjectRef::Group(_), Some(Object::Group(group))) => sources.group = Sight::Heard(group),
            (ObjectRef::Group(_), None) => sources.group = Sight::Missing,
            (ObjectRef::Context(_), Some(Object::Context(context))) => {
                sources.context = Sight::Heard(context)
            }
            (ObjectRef::Context(_), None) => sources.context = Sight::Missing,
            (ObjectRef::Volume(_), Some(Object::Volume(volume))) => sources.volume = Sight::Heard(volume),
            (ObjectRef::Volume(_), None) => sources.volume = Sight::Missing,
            (ObjectRef::VolumeClaim(_), Some(Object::VolumeClaim(claim))) => {
                sources.volume_claim = Sight::Heard(claim);
            }
            (ObjectRef::VolumeClaim(_), None) => sources.volume_claim = Sight::Missing,
            (which, Some(object)) => unreachable!("{object:?} was read in place of {which:?}"),
        }
    }

    /// Goes on from the object that a call gave.
    fn take(&mut self, sent: Sent, object: Option<Object>) {
        let sources = &mut self.sources;
        match object {
            Some(Object::Claim(claim)) => sources.find_claim(&self.write, claim),
            Some(Object::Pod(pod)) => sources.pod = Sight::Heard(pod),
            Some(Object::Group(group)) => sources.group = Sight::Heard(group),
            Some(Object::Context(context)) => sources.context = Sight::Heard(context),
            Some(Object::Volume(volume)) => sources.volume = Sight::Heard(volume),
            Some(Object::VolumeClaim(claim)) => sources.volume_claim = Sight::Heard(claim),
            // A context that was deleted says nothing any more. A claim may stay for others who keep it from vanishing.
            None if sent.verb == Verb::Delete => sources.context = Sight::Missing,
            None => {}
        }
    }

    /// It cannot be done: what was made is taken back before this is told.
    fn fail(&mut self, why: String, now: Timestamp) -> DeliveryAction {
        match std::mem::replace(&mut self.aim, Aim::Do) {
            Aim::Do => {
                (self.aim, self.tally) = (Aim::Undo { why, calls: 0 }, Tally::default());
                self.ask(now)
            }
            Aim::Undo { why, .. } => self.settle(WriteOutcome::Failed(why)),
        }
    }

    fn settle(&mut self, outcome: WriteOutcome) -> DeliveryAction {
        self.state = State::Settled;
        DeliveryAction::Settled(Box::new(Settled::new(outcome, &mut self.sources)))
    }
}

/// Whether a write only tells people something about a pod or a group.
fn is_remark(write: &Write) -> bool {
    is_note(write) || matches!(write, Write::Nominate { .. })
}

fn is_note(write: &Write) -> bool {
    matches!(write, Write::Note { .. } | Write::NoteGroup { .. })
}

/// The finalizer of splitmix64: seeds that are near each other give numbers that are not.
fn mixed(seed: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// How long to wait before the next try.
fn pause(retry_after: Option<Duration>, tries: u32) -> Duration {
    // Pauses vary by half, and the server is not asked sooner than it wants to be.
    retry_after.map_or(PAUSE_FIRST * 2_u32.pow(tries.min(6)), |asked| asked * 2).min(PAUSE_MAX)
}
