//! Why pods that are alike have no node, kept until something changes.
//!
//! Bound: beyond [`KEPT_MAX`] kinds of pods the one that was asked for the longest ago goes.

use std::sync::Arc;

use model::claim::Claim;
use model::pod::{LabelSelector, Pod, Shape};

use crate::profile::Profile;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::Hopeless;

const KEPT_MAX: usize = 64;

/// Why pods have no node, the youngest last.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    known: Vec<KnownRefusal>,
}

/// Why pods that are alike have no node.
#[derive(Debug)]
struct KnownRefusal {
    profile: Arc<Profile>,
    shape: Arc<Shape>,
    companions: Option<LabelSelector>,
    wishes: Vec<Arc<Claim>>,
    priority: i32,
    /// Why no node would do, and when that was.
    refused: Option<(Moment, Box<PodRefusal>)>,
    /// Why preemption would not help, and when that was.
    hopeless: Option<(Moment, Hopeless)>,
}

/// What a moment is told apart by: nothing has changed while these are the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Moment {
    /// Touches of nodes.
    pub(crate) touches: u64,
    /// The revision of namespaces.
    pub(crate) namespaces: u64,
    /// Changes of which pods use which claims. They matter only to which pods could be preempted.
    pub(crate) users: u64,
}

/// Pods that are alike.
#[derive(Clone, Copy)]
pub(crate) struct AlikePods<'p> {
    pub(crate) pod: &'p Pod,
    pub(crate) claims: &'p PodClaims,
    pub(crate) profile: &'p Arc<Profile>,
    pub(crate) companions: Option<&'p LabelSelector>,
}

impl Refusals {
    /// Why no node would do, if it was so at this moment.
    pub(crate) fn refused(&self, pods: AlikePods<'_>, now: Moment) -> Option<&PodRefusal> {
        let (when, refusal) = self.known.iter().rfind(|known| known.is_of(pods))?.refused.as_ref()?;
        (Moment { users: now.users, ..*when } == now).then_some(&**refusal)
    }

    /// Why preemption would not help, if it was so at this moment.
    pub(crate) fn hopeless(&self, pods: AlikePods<'_>, now: Moment) -> Option<&Hopeless> {
        let (when, hopeless) = self.known.iter().rfind(|known| known.is_of(pods))?.hopeless.as_ref()?;
        (*when == now).then_some(hopeless)
    }

    pub(crate) fn remember_refused(&mut self, pods: AlikePods<'_>, now: Moment, refusal: &PodRefusal) {
        self.youngest(pods).refused = Some((now, Box::new(refusal.clone())));
    }

    pub(crate) fn remember_hopeless(&mut self, pods: AlikePods<'_>, now: Moment, hopeless: &Hopeless) {
        self.youngest(pods).hopeless = Some((now, hopeless.clone()));
    }

    fn youngest(&mut self, pods: AlikePods<'_>) -> &mut KnownRefusal {
        let known = match self.known.iter().rposition(|known| known.is_of(pods)) {
            Some(at) => self.known.remove(at),
            None => KnownRefusal::new(pods),
        };
        if self.known.len() >= KEPT_MAX {
            self.known.remove(0);
        }
        self.known.push(known);
        self.known.last_mut().expect("one was put there")
    }
}

impl KnownRefusal {
    fn new(AlikePods { pod, claims, profile, companions }: AlikePods<'_>) -> KnownRefusal {
        KnownRefusal {
            profile: profile.clone(),
            shape: pod.shape.clone(),
            companions: companions.cloned(),
            wishes: claims.open.iter().map(|state| state.wish.clone()).collect(),
            priority: pod.priority,
            refused: None,
            hopeless: None,
        }
    }

    fn is_of(&self, AlikePods { pod, claims, profile, companions }: AlikePods<'_>) -> bool {
        Arc::ptr_eq(&self.profile, profile)
            && self.priority == pod.priority
            && self.companions.as_ref() == companions
            && (Arc::ptr_eq(&self.shape, &pod.shape) || self.shape == pod.shape)
            && claims.ask_for(&self.wishes)
    }
}
