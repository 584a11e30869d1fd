//! A pod on its way to a node: its claims are written, it is certain that it has their devices alone, its volumes are bound, its devices
//! are made ready, the other members of its gang have all that they need, and it is bound. Whatever goes wrong before that undoes all of it.
//!
//! | | Answered | Written | Unsettled | Unmounted | Unready | Ready | Bind | Failed | TakenBack | Released | Bound | Served | PutBack | Left |
//! |---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
//! | Writing | Writing | Settling | - | - | - | - | - | Failing | - | - | - | - | - | over |
//! | Settling | - | - | Settling | Mounting | Readying | Held | Binding | Failing | - | - | - | over | - | over |
//! | Mounting | - | - | Settling | Mounting | Readying | Held | Binding | Failing | - | - | - | - | - | over |
//! | Readying | - | - | Settling | - | Readying | Held | Binding | Failing | - | - | - | - | - | over |
//! | Held | - | - | Settling | - | Readying | Held | Binding | Failing | - | - | - | - | - | over |
//! | Binding | - | - | - | - | - | - | - | Failing | - | - | over | - | - | over |
//! | Failing | Failing | - | - | - | - | - | - | Failing | Undoing | - | - | - | - | over |
//! | Undoing | - | - | - | - | - | - | - | Undoing | - | Undoing | - | - | over | over |

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::volumes::VolumePlan;
use decisions::binding_part::BindingPart;
use decisions::giving_back::Why;
use decisions::not_bound::NotBound;
use decisions::not_ready::Awaited;
use model::claim::ClaimId;
use model::identity::{ClaimUid, NodeName};
use model::pod::Pod;
use model::timestamp::Timestamp;
use model::volume::VolumeClaimId;

use crate::claim_waits::For;
use crate::write::WriteId;

/// A part with a write that is not answered yet.
#[derive(Clone, Debug)]
pub(crate) struct OpenWrite {
    pub part: BindingPart,
    /// The uid of the claim if the write gives it devices, and nothing if it only reserves it.
    pub decided: Option<ClaimUid>,
}

/// A volume that a claim of a pod on its way gets.
#[derive(Clone, Debug)]
pub(crate) struct PlannedVolume {
    pub plan: VolumePlan,
    /// The revision of what is written for it, as it was before.
    pub revision: u64,
}

/// A pod on its way to a node.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub pod: Arc<Pod>,
    pub node: NodeName,
    /// Writes that are not answered yet.
    pub open: BTreeMap<WriteId, OpenWrite>,
    /// What is written for the pod by now.
    pub written: Vec<BindingPart>,
    /// The volumes that its claims get.
    pub volumes: Vec<PlannedVolume>,
    /// Since when it waits for them.
    pub volumes_since: Option<Timestamp>,
    /// Until when others may still give its devices away, as they cannot have heard of it before.
    pub settles_at: Option<Timestamp>,
    /// Its node is noted on the pod: it waited there for its devices, and the node is tried first when it fails.
    pub keeps_node: bool,
    /// The device of which it was told last that the pod waits for it.
    pub told_of: Option<Awaited>,
    stage: BindingStage,
}

/// How far a pod is.
#[derive(Clone, Debug)]
pub(crate) enum BindingStage {
    /// Its claims are being written.
    Writing,
    /// Its claims are written. Another scheduler may have given their devices away at the same moment.
    Settling {
        /// Until when news of these claims are waited for.
        hears_by: Option<Timestamp>,
        /// The claims that the API has yet to tell of.
        claims: Vec<ClaimId>,
        /// When it goes on at the latest.
        until: Option<Timestamp>,
    },
    /// Its volumes are being bound.
    Mounting {
        /// When its time is over.
        until: Timestamp,
    },
    /// Its devices are being made ready.
    Readying {
        /// Since when.
        since: Timestamp,
        /// When its time is over.
        until: Timestamp,
        /// The claims whose devices these are.
        claims: Vec<ClaimId>,
    },
    /// It has all that it needs, and waits for the other members of its gang.
    Held {
        /// Since when it waited for its devices.
        since: Timestamp,
        /// The claims whose devices were made ready, and have to stay so.
        claims: Vec<ClaimId>,
    },
    /// It is being bound.
    Binding(WriteId),
    /// It will not be bound: the writes that are open are waited for.
    Failing(CannotBind),
    /// What was written for it is being taken back.
    Undoing {
        /// Writes that take reservations back. The pod is not tried again before they are answered, or they could undo what is
        /// written for it then.
        writes: BTreeSet<WriteId>,
        /// Why.
        why: NotBound,
    },
    /// It is on its way no more.
    Over,
}

/// Why a pod is not bound.
#[derive(Clone, Debug)]
pub(crate) struct CannotBind {
    pub why: NotBound,
    /// Why its claims give their devices back: it could not be bound, or makes way for a more important pod.
    pub because: Why,
}

/// What happens to a pod on its way.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// A write for it is answered, and others are not.
    Answered,
    /// All writes for it are answered and done.
    Written,
    /// It is not certain yet that it has its devices alone.
    Unsettled {
        /// The claims that the API has yet to tell of.
        claims: Vec<ClaimId>,
        /// When it goes on at the latest.
        until: Timestamp,
    },
    /// Its volumes are not bound.
    Unmounted { until: Timestamp },
    /// Its devices are not ready.
    Unready { now: Timestamp, until: Timestamp, claims: Vec<ClaimId> },
    /// It has all that it needs but for its gang.
    Ready { now: Timestamp, claims: Vec<ClaimId> },
    /// It has all that it needs, and the write that binds it is submitted.
    Bind(WriteId),
    /// It cannot be bound, or makes way for another.
    Failed(CannotBind),
    /// These writes take back what was written for it.
    TakenBack(BTreeSet<WriteId>),
    /// One of them is answered.
    Released(WriteId),
    /// It is bound.
    Bound,
    /// It was on its node before, and has its devices now.
    Served,
    /// It is back in the queue.
    PutBack,
    /// It is gone, or another has bound it.
    Left,
}

/// What a pod waited for that is not bound.
#[derive(Clone, Debug)]
pub(crate) struct Waited {
    pub since: Timestamp,
    pub claims: Vec<ClaimId>,
    /// All of them were ready.
    pub is_ready: bool,
}

impl Binding {
    /// A pod that goes to a node.
    pub fn new(pod: Arc<Pod>, node: NodeName) -> Binding {
        Binding {
            pod,
            node,
            open: BTreeMap::new(),
            written: Vec::new(),
            volumes: Vec::new(),
            volumes_since: None,
            settles_at: None,
            keeps_node: false,
            told_of: None,
            stage: BindingStage::Writing,
        }
    }

    pub fn stage(&self) -> &BindingStage {
        &self.stage
    }

    /// Goes on by an event.
    pub fn step(&mut self, event: Event) {
        let name = event.name();
        let before = std::mem::replace(&mut self.stage, BindingStage::Over);
        let from = before.name();
        if let Event::Unready { .. } = event {
            self.keeps_node = true;
        }
        let (stage, is_expected) = step(before, event);
        debug_assert!(is_expected, "pod {} was {from} and was told {name}", self.pod.id.name);
        self.stage = stage;
        self.check();
    }

    /// What has to be so in each stage.
    fn check(&self) {
        let all_answered = self.open.is_empty();
        match &self.stage {
            BindingStage::Writing | BindingStage::Failing(_) | BindingStage::Over => {}
            BindingStage::Settling { claims, until, .. } => {
                debug_assert!(all_answered, "writes are answered before anything else is waited for");
                debug_assert!(claims.is_empty() || until.is_some(), "news are not waited for without end");
            }
            BindingStage::Mounting { .. } => debug_assert!(all_answered && !self.volumes.is_empty()),
            BindingStage::Readying { claims, .. } => {
                debug_assert!(all_answered && !claims.is_empty() && self.keeps_node);
            }
            BindingStage::Held { .. } => debug_assert!(all_answered),
            BindingStage::Binding(_) => {
                debug_assert!(all_answered && self.pod.node.is_none(), "a pod on a node is not bound again");
            }
            BindingStage::Undoing { .. } => {
                debug_assert!(all_answered && self.written.is_empty(), "all that was written is taken back");
            }
        }
    }

    /// Whether an answer is waited for before anything else counts.
    pub fn awaits_answers(&self) -> bool {
        match self.stage {
            BindingStage::Writing | BindingStage::Failing(_) => !self.open.is_empty(),
            BindingStage::Binding(_) | BindingStage::Undoing { .. } => true,
            BindingStage::Settling { .. }
            | BindingStage::Mounting { .. }
            | BindingStage::Readying { .. }
            | BindingStage::Held { .. }
            | BindingStage::Over => false,
        }
    }

    /// Whether it waits for something else than answers to its writes, and would notice if its node went.
    pub fn is_waiting(&self) -> bool {
        match self.stage {
            BindingStage::Settling { .. }
            | BindingStage::Mounting { .. }
            | BindingStage::Readying { .. }
            | BindingStage::Held { .. } => true,
            BindingStage::Writing
            | BindingStage::Binding(_)
            | BindingStage::Failing(_)
            | BindingStage::Undoing { .. }
            | BindingStage::Over => false,
        }
    }

    /// Whether the write that binds it is under way.
    pub fn is_being_bound(&self) -> bool {
        matches!(self.stage, BindingStage::Binding(_))
    }

    /// Whether it waits for its volumes.
    pub fn awaits_volumes(&self) -> bool {
        matches!(self.stage, BindingStage::Mounting { .. })
    }

    /// The claims that it waits for to get their volumes.
    pub fn awaited_volumes(&self) -> impl Iterator<Item = &VolumeClaimId> {
        let volumes = self.volumes.iter().filter(|_| self.awaits_volumes());
        volumes.map(|volume| &volume.plan.claim.id)
    }

    /// Whether it waits for devices or, with devices that are ready, for its gang.
    pub fn is_readying(&self) -> bool {
        self.waited().is_some()
    }

    /// Whether it has all that it needs but for its gang.
    pub fn is_held(&self) -> bool {
        matches!(self.stage, BindingStage::Held { .. })
    }

    /// Whether it will not be bound.
    pub fn is_coming_back(&self) -> bool {
        matches!(self.stage, BindingStage::Failing(_) | BindingStage::Undoing { .. })
    }

    /// What it waits or waited for of its devices, if some have to be made ready.
    pub fn waited(&self) -> Option<Waited> {
        match &self.stage {
            BindingStage::Readying { since, claims, .. } => {
                Some(Waited { since: *since, claims: claims.clone(), is_ready: false })
            }
            BindingStage::Held { since, claims } if !claims.is_empty() => {
                Some(Waited { since: *since, claims: claims.clone(), is_ready: true })
            }
            _ => None,
        }
    }

    /// When it goes on at the latest.
    pub fn deadline(&self) -> Option<Timestamp> {
        match &self.stage {
            BindingStage::Settling { until, .. } => *until,
            BindingStage::Mounting { until } | BindingStage::Readying { until, .. } => Some(*until),
            _ => None,
        }
    }

    /// The claims whose changes let it go on, and what of them does.
    pub fn awaited(&self) -> Option<(For, &[ClaimId])> {
        match &self.stage {
            BindingStage::Settling { claims, .. } => Some((For::News, claims)),
            BindingStage::Readying { claims, .. } | BindingStage::Held { claims, .. } => {
                Some((For::ReadyDevices, claims))
            }
            _ => None,
        }
    }

    /// Whether a claim is or is being written for it.
    pub fn has_part(&self, claim: &ClaimId) -> bool {
        self.claims().any(|one| one == claim)
    }

    /// The claims that are or are being written for it.
    pub fn claims(&self) -> impl Iterator<Item = &ClaimId> {
        self.written.iter().chain(self.open.values().map(|open| &open.part)).filter_map(BindingPart::claim)
    }
}

/// The stage after an event, and whether the table has it.
fn step(stage: BindingStage, event: Event) -> (BindingStage, bool) {
    use BindingStage::{Failing, Held, Mounting, Over, Readying, Settling, Undoing, Writing};
    let is_after_writes = matches!(stage, Settling { .. } | Mounting { .. } | Readying { .. } | Held { .. });
    let next = match (stage, event) {
        (stage @ (Writing | Failing(_)), Event::Answered) => stage,
        (Writing, Event::Written) => Settling { hears_by: None, claims: Vec::new(), until: None },
        (stage, Event::Unsettled { claims, until }) if is_after_writes => {
            let known = if let Settling { hears_by, .. } = stage { hears_by } else { None };
            let hears_by = if claims.is_empty() { known } else { Some(known.unwrap_or(until)) };
            Settling { hears_by, claims, until: Some(until) }
        }
        (Readying { since, .. } | Held { since, .. }, Event::Unready { until, claims, .. }) => {
            Readying { since, until, claims }
        }
        (Settling { .. } | Mounting { .. }, Event::Unmounted { until }) => Mounting { until },
        (Settling { .. } | Mounting { .. }, Event::Unready { now, until, claims }) => {
            Readying { since: now, until, claims }
        }
        (Readying { since, .. } | Held { since, .. }, Event::Ready { claims, .. }) => Held { since, claims },
        (Settling { .. } | Mounting { .. }, Event::Ready { now, claims }) => Held { since: now, claims },
        (_, Event::Bind(write)) if is_after_writes => BindingStage::Binding(write),
        (Failing(first), Event::Failed(then)) => {
            let because = if then.because == Why::Preempted { then.because } else { first.because };
            Failing(CannotBind { because, ..first })
        }
        (stage @ Undoing { .. }, Event::Failed(_)) => stage,
        (
            Writing
            | Settling { .. }
            | Mounting { .. }
            | Readying { .. }
            | Held { .. }
            | BindingStage::Binding(_),
            Event::Failed(why),
        ) => Failing(why),
        (Failing(why), Event::TakenBack(writes)) => Undoing { writes, why: why.why },
        (Undoing { mut writes, why }, Event::Released(write)) => {
            writes.remove(&write);
            Undoing { writes, why }
        }
        (BindingStage::Binding(_), Event::Bound)
        | (Settling { .. }, Event::Served)
        | (Undoing { .. }, Event::PutBack) => Over,
        (Over, _) => return (Over, false),
        (_, Event::Left) => Over,
        (stage, _) => return (stage, false),
    };
    (next, true)
}

impl BindingStage {
    fn name(&self) -> &'static str {
        match self {
            BindingStage::Writing => "Writing",
            BindingStage::Settling { .. } => "Settling",
            BindingStage::Mounting { .. } => "Mounting",
            BindingStage::Readying { .. } => "Readying",
            BindingStage::Held { .. } => "Held",
            BindingStage::Binding(_) => "Binding",
            BindingStage::Failing(_) => "Failing",
            BindingStage::Undoing { .. } => "Undoing",
            BindingStage::Over => "over",
        }
    }
}

impl Event {
    fn name(&self) -> &'static str {
        match self {
            Event::Answered => "Answered",
            Event::Written => "Written",
            Event::Unsettled { .. } => "Unsettled",
            Event::Unmounted { .. } => "Unmounted",
            Event::Unready { .. } => "Unready",
            Event::Ready { .. } => "Ready",
            Event::Bind(_) => "Bind",
            Event::Failed(_) => "Failed",
            Event::TakenBack(_) => "TakenBack",
            Event::Released(_) => "Released",
            Event::Bound => "Bound",
            Event::Served => "Served",
            Event::PutBack => "PutBack",
            Event::Left => "Left",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life_cycles::table;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000).plus_millis(millis)
    }

    fn why(why: NotBound, because: Why) -> CannotBind {
        CannotBind { why, because }
    }

    fn stages() -> Vec<BindingStage> {
        vec![
            BindingStage::Writing,
            BindingStage::Settling { hears_by: None, claims: Vec::new(), until: None },
            BindingStage::Mounting { until: at(9) },
            BindingStage::Readying { since: at(0), until: at(9), claims: Vec::new() },
            BindingStage::Held { since: at(0), claims: Vec::new() },
            BindingStage::Binding(WriteId(1)),
            BindingStage::Failing(why(NotBound::LostMade, Why::NotBound)),
            BindingStage::Undoing { writes: BTreeSet::from([WriteId(2)]), why: NotBound::LostMade },
        ]
    }

    fn events() -> Vec<Event> {
        vec![
            Event::Answered,
            Event::Written,
            Event::Unsettled { claims: Vec::new(), until: at(5) },
            Event::Unmounted { until: at(7) },
            Event::Unready { now: at(3), until: at(7), claims: Vec::new() },
            Event::Ready { now: at(3), claims: Vec::new() },
            Event::Bind(WriteId(1)),
            Event::Failed(why(NotBound::Preempted, Why::Preempted)),
            Event::TakenBack(BTreeSet::new()),
            Event::Released(WriteId(2)),
            Event::Bound,
            Event::Served,
            Event::PutBack,
            Event::Left,
        ]
    }

    #[test]
    fn the_table_in_the_header_is_what_the_code_does() {
        let names: Vec<&str> = events().iter().map(Event::name).collect();
        let rows = stages().into_iter().map(|stage| {
            let after = |event: Event| match step(stage.clone(), event) {
                (next, true) => next.name().to_owned(),
                (next, false) => {
                    assert_eq!(next.name(), stage.name(), "what is not expected changes nothing");
                    "-".to_owned()
                }
            };
            (stage.name().to_owned(), events().into_iter().map(after).collect())
        });
        let rows: Vec<(String, Vec<String>)> = rows.collect();
        table::assert_is_so(include_str!("binding.rs"), &names, &rows);
    }

    #[test]
    fn a_pod_waits_for_its_devices_by_one_clock_and_for_news_until_one_time() {
        let held = step(stages().remove(3), Event::Ready { now: at(4), claims: Vec::new() }).0;
        let again = step(held, Event::Unready { now: at(6), until: at(20), claims: Vec::new() }).0;
        assert!(matches!(again, BindingStage::Readying { since, .. } if since == at(0)), "{again:?}");
        let claim = ClaimId { namespace: "default".into(), name: "c".into() };
        let unheard = |until| Event::Unsettled { claims: vec![claim.clone()], until };
        let first = step(stages().remove(1), unheard(at(30))).0;
        let then = step(first, Event::Unsettled { claims: Vec::new(), until: at(40) }).0;
        let BindingStage::Settling { hears_by, until, .. } = then else { panic!("{then:?}") };
        assert_eq!((hears_by, until), (Some(at(30)), Some(at(40))));
    }

    #[test]
    fn the_first_reason_is_told_and_one_that_makes_way_does_so_whatever_failed_before() {
        let failing = step(
            BindingStage::Failing(why(NotBound::LostMade, Why::NotBound)),
            Event::Failed(why(NotBound::Preempted, Why::Preempted)),
        )
        .0;
        let BindingStage::Failing(told) = failing else { panic!("{failing:?}") };
        assert_eq!((told.why, told.because), (NotBound::LostMade, Why::Preempted));
    }
}
