//! What is still to be negotiated with a driver's controller about a claim of a pod.

use cluster::claims::ClaimState;
use cluster::users::asks;
use gates::Gate;
use model::claim::Wish;
use model::pod::{Pod, PodClaim};

use crate::cycle::Cycle;
use crate::giving_back::Why;
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::pending::Pending;
use crate::values::pod_refusal::PodRefusal;
use crate::values::reason::ClaimReason;
use crate::values::wake::{Wake, Wakes};

/// Why a claim cannot be used now.
struct Withheld {
    reason: ClaimReason,
    in_the_way: Option<InTheWay>,
}

impl From<ClaimReason> for Withheld {
    fn from(reason: ClaimReason) -> Withheld {
        Withheld { reason, in_the_way: None }
    }
}

impl Cycle<'_> {
    /// What is still to be negotiated about a claim of a pod, as [`Cycle::to_negotiate`], or why the pod is refused.
    pub(crate) fn pending(
        &self,
        pod: &Pod,
        entry: &PodClaim,
        state: &ClaimState,
        refused: &dyn Fn(ClaimReason) -> Box<PodRefusal>,
    ) -> Result<Option<Pending>, Box<PodRefusal>> {
        self.to_negotiate(pod, entry, state).map_err(|withheld| {
            let wakes_on = Wakes::of(&[Wake::Class, Wake::OwnClaims]);
            let gives_back = |_: &InTheWay| self.gives_back(Why::DriverAsked, &state.wish.id, pod);
            let in_the_way = withheld.in_the_way.filter(gives_back);
            Box::new(refused(withheld.reason).because_of(in_the_way, wakes_on))
        })
    }

    /// What is still to be negotiated about a claim of a pod; nothing, if it has devices or gets them from us.
    fn to_negotiate(
        &self,
        pod: &Pod,
        entry: &PodClaim,
        state: &ClaimState,
    ) -> Result<Option<Pending>, Withheld> {
        let (id, control) = (&state.wish.id, &state.control);
        if !self.facts.is_controlled(state) {
            return Ok(None);
        }
        if !self.settings.gates.enabled(Gate::DRAControlPlaneController) {
            return Err(ClaimReason::ControllerOff(id.clone()).into());
        }
        if control.leaving {
            // The scheduler that asked for it may have been stopped before the pod let go of it.
            let is_ours = pod.node.is_none() && state.reserved_for.iter().all(|user| user.is(&pod.uid));
            let is_held = is_ours && !state.reserved_for.is_empty();
            let one = InTheWay { claim: id.clone(), uid: state.uid.clone(), remedy: Remedy::Deallocate };
            let reason = ClaimReason::MustBeReallocated(id.clone());
            return Err(Withheld { reason, in_the_way: is_held.then_some(one) });
        }
        if state.allocation.is_some() {
            let is_others = !state.reserved_for.is_empty() && !state.is_reserved_for(&pod.uid);
            if is_others && !control.shareable {
                return Err(ClaimReason::NotShareable(id.clone()).into());
            }
            return Ok(None);
        }
        let driver = self.facts.controls(&state.wish).next().map(|control| control.controller.clone());
        let driver = driver.unwrap_or_default();
        let is_alike = self.facts.controls(&state.wish).count() == asks(&state.wish).count()
            && self.facts.controls(&state.wish).all(|control| control.controller == driver);
        let is_plain = state.wish.spec.requests.iter().all(|one| matches!(one.wish, Wish::Exactly(_)));
        if !is_alike || !is_plain {
            return Err(ClaimReason::MixedControllers(id.clone()).into());
        }
        if control.immediate {
            return Err(ClaimReason::Immediate { claim: id.clone(), driver }.into());
        }
        let suitable =
            self.facts.controls(&state.wish).filter_map(|control| control.suitable.clone()).collect();
        let answers = self.facts.context(pod).and_then(|context| context.answers.get(&entry.name));
        let unsuitable = answers.cloned().unwrap_or_default();
        Ok(Some(Pending { entry: entry.name.clone(), driver, suitable, unsuitable }))
    }
}
