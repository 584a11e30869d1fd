//! One attempt to place a pod: look at every node, take the best, and set off what has to be written.

use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::groups::Key;
use decisions::binding_part::BindingPart;
use decisions::considering::{PodVerdict, SchedulingQuestion};
use decisions::filters::FilterSet;
use decisions::holding::held;
use decisions::meaning::Meaning;
use decisions::pod::{Choice, Wanted};
use model::allocation::Allocation;
use model::claim::ClaimId;
use model::identity::PodUid;
use model::pod::Pod;
use model::timestamp::Timestamp;

use super::{Announcement, Engine};
use crate::life_cycles::binding::{Binding, OpenWrite};
use crate::outbox::Owner;
use crate::queue::Failure;
use crate::write::{Consumer, WaitReason, Write};

/// Why a pod has no place, as it is told.
pub(crate) struct Refused {
    pub(crate) meaning: Meaning,
    pub(crate) message: String,
    pub(crate) filters: FilterSet,
    pub(crate) reasons: Vec<&'static str>,
}

impl From<String> for Refused {
    fn from(message: String) -> Refused {
        let filters = FilterSet::default();
        Refused { meaning: (&*message).into(), message, filters, reasons: Vec::new() }
    }
}

impl Engine {
    pub(super) fn turn(&mut self, now: Timestamp, attempts: u32) {
        self.clear_forlorn(now);
        self.give_up_held_back();
        self.free_room_of_shrunk();
        self.note_placed();
        self.tell_gated(now);
        self.note_again(now);
        self.refresh_told(now);
        self.note_waits(now);
        self.tell_undecided(now);
        self.note_changes();
        if self.begin_considerations(now) {
            // A copy of everything that is known takes long enough.
            return;
        }
        for _ in 0..attempts {
            let Some(key) = self.queue.next(now) else { break };
            let Some(question) = self.question(now, &key) else { continue };
            if !self.decide(now, &key, &question) {
                // Facts that came meanwhile are heard first.
                break;
            }
            self.outbox.considerations.note_change();
        }
    }

    /// Where a pod goes, if it waits for that now.
    pub(super) fn question_about_pod(
        &mut self,
        now: Timestamp,
        key: &Key,
        uid: &PodUid,
    ) -> Option<SchedulingQuestion> {
        let Some(pod) = self.facts.waiting.get(uid).cloned() else {
            self.queue.remove(key);
            return None;
        };
        if self.facts.wants_devices(&pod)
            && let Some(until) = self.bindings.rivals.stands_back(now, key)
        {
            self.queue.postpone(key, until);
            return None;
        }
        self.tell_ignored(&pod);
        self.watch_claims(&pod);
        Some(SchedulingQuestion::Pod(pod))
    }

    /// Sends a pod on its way, or says why it has no place.
    pub(super) fn act_on_pod(&mut self, now: Timestamp, pod: &Arc<Pod>, verdict: PodVerdict) {
        match verdict {
            PodVerdict::Placed { choice: Choice { negotiation: Some(openings), .. }, .. } => {
                self.negotiate(now, pod, &openings);
            }
            PodVerdict::Placed { choice, lifted } => {
                self.wake_dispossessed(now, &lifted, &choice);
                self.place(now, pod, choice);
            }
            PodVerdict::Refused { refusal, attempt } => {
                self.leave_node(now, pod, &refusal);
                self.refused(now, pod, &refusal, attempt);
            }
        }
    }

    /// Sends a pod on its way: it counts as being on the node from now on, and its devices as taken.
    pub(crate) fn place(&mut self, now: Timestamp, pod: &Arc<Pod>, choice: Choice) {
        let freed = self.end_nomination(&pod.uid, Some(&choice.node));
        self.wake_others(freed, now);
        let mut assumed = Pod::clone(pod);
        assumed.node = Some(choice.node.clone());
        let (footprints, extra) = self.cycle().taken_of_node(pod, &choice.claims);
        if !footprints.is_empty() {
            let shape = Arc::make_mut(&mut assumed.shape);
            shape.requests.add(&extra, 1);
            shape.scored.add(&extra, 1);
        }
        let freed = self.put_on_node(now, &Arc::new(assumed));
        self.wake_others(freed, now);
        self.bindings.begin(Binding::new(pod.clone(), choice.node.clone()));
        self.take_volumes(pod, choice.volumes);
        if !footprints.is_empty() {
            let note = OpenWrite { part: BindingPart::Note(pod.id.clone()), decided: None };
            let (id, uid) = (pod.id.clone(), pod.uid.clone());
            self.submit_for(pod, note, Write::NoteResources { pod: id, uid, claims: footprints });
        }
        if pod.node.is_none() && choice.claims.iter().any(|wanted| matches!(wanted, Wanted::Reserved)) {
            self.offer_kept_devices(now, pod);
        }
        for wanted in choice.claims {
            let (open, write) = match wanted {
                Wanted::Reserved => continue,
                Wanted::Reservation { claim, uid } => {
                    let open = OpenWrite { part: BindingPart::Claim(claim.clone()), decided: None };
                    let consumers = vec![self.consumer(pod, &claim)];
                    (open, Write::Reserve { claim, uid, consumers })
                }
                Wanted::Allocation { state, allocation } => {
                    let open = OpenWrite {
                        part: BindingPart::Claim(state.wish.id.clone()),
                        decided: Some(state.uid.clone()),
                    };
                    let consumer = self.consumer(pod, &state.wish.id);
                    (open, self.allocate(&state, allocation, consumer))
                }
                Wanted::Claim { allocation } => {
                    let open = OpenWrite { part: BindingPart::MadeClaim, decided: None };
                    (open, self.make_claim(pod, &choice.node, allocation))
                }
            };
            self.submit_for(pod, open, write);
        }
        self.go_on(now, &pod.uid);
    }

    /// A pod goes on its way with devices that it has since an earlier attempt. While it waited it could not be preempted for
    /// them, and from now on more important pods can. What a driver's controller gave is not ours to give.
    fn offer_kept_devices(&mut self, now: Timestamp, pod: &Pod) {
        let is_ours = |id: ClaimId| {
            let state = self.facts.claims.get(&id);
            state.is_some_and(|state| state.allocation.is_some() && !self.facts.is_controlled(state))
        };
        if pod.claim_ids().any(is_ours) {
            self.plans.users_changed += 1;
            self.wake_others(self.claims_touched(pod), now);
        }
    }

    /// Asks for a write that has to be done before a pod is bound.
    pub(crate) fn submit_for(&mut self, pod: &Pod, open: OpenWrite, write: Write) {
        let id = self.outbox.submit_for(Owner::Binding(pod.uid.clone()), write);
        if let Some(binding) = self.bindings.get_mut(&pod.uid) {
            binding.open.insert(id, open);
        }
    }

    /// Takes the devices of an allocation, and says what is to be written.
    fn allocate(&mut self, state: &ClaimState, allocation: Allocation, consumer: Consumer) -> Write {
        let id = state.wish.id.clone();
        let (allocated, shares) = held(&id.clone().into(), &state.uid, &allocation);
        let decided = self.facts.claims.decide(&id, &state.uid, allocated);
        assert!(decided, "a claim that was looked at a moment ago has no allocation");
        self.facts.touch_claim(&id);
        Write::Allocate {
            claim: id,
            uid: state.uid.clone(),
            version: state.version.clone(),
            allocation: Box::new(allocation),
            shares,
            consumers: vec![consumer],
        }
    }

    /// Puts a pod back that has no place, and says why.
    pub(crate) fn refuse(&mut self, now: Timestamp, pod: &Arc<Pod>, failure: Failure, told: Refused) {
        let Refused { meaning, message, filters, reasons } = told;
        let reason = match &failure {
            Failure::Refused(_) | Failure::LimitReached(_) => WaitReason::Unschedulable,
            Failure::Failed => WaitReason::SchedulerError,
        };
        let key = Key::from(&**pod);
        self.queue.put_back(&key, failure, now);
        let news = self.queue.news(&key, [&pod.uid], meaning, now);
        let (is_news, is_written) = (!news.to_tell.is_empty(), news.is_written(&pod.uid));
        // It waits for no driver now. If it does so again, in the same words, that is news.
        self.waits_for_no_driver(&pod.uid);
        // That a pod has a node is not taken back when it lacks devices there.
        if pod.node.is_none() {
            self.queue.words(&key, &message, is_written);
            if is_written {
                self.note_pod(pod, reason, message.clone());
            }
        }
        self.outbox.announce(Announcement::FailedScheduling {
            pod: pod.clone(),
            message,
            filters,
            reasons,
            is_news,
        });
    }

    /// Notes on a pod why it waits.
    pub(crate) fn note_pod(&mut self, pod: &Pod, reason: WaitReason, message: String) {
        let (id, uid) = (pod.id.clone(), pod.uid.clone());
        let owner = Owner::PodNote(uid.clone());
        self.outbox.submit_for(owner, Write::Note { pod: id, uid, reason, message });
    }
}
