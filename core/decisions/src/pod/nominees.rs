//! Room that nominees have to be left on a node, and devices that are planned for them.

use std::sync::Arc;

use cluster::nodes::NodeState;
use model::identity::PodUid;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::filters::{self, Around, FilterSettings, Mounts};
use crate::plans::nominations::Nomination;
use crate::values::node_refusal::NodeRefusal;

/// What pods everywhere mean for a pod, to be looked at with nominees of a node among them.
#[derive(Debug)]
pub(crate) enum Beside<'a> {
    /// It is not looked at.
    Nothing,
    /// Nominees are counted there for a moment.
    Counted(&'a mut Around),
    /// Nominees are counted in a copy, which takes longer the more places there are.
    Copied(&'a Around),
}

impl Cycle<'_> {
    /// Gives back the devices of plans that do not matter to a pod until the cycle ends: its own, and those for less important
    /// pods. Tells the uids of these pods.
    pub fn lift_plans(&mut self, pod: &Pod) -> Vec<PodUid> {
        let own = self.plans.nominations.get(&pod.uid).map(|_| pod.uid.clone());
        self.lift_plans_below(pod.priority, own)
    }

    /// Gives back the devices of plans for pods that are less important than this, and for one besides.
    pub fn lift_plans_below(&mut self, priority: i32, own: Option<PodUid>) -> Vec<PodUid> {
        let nominations = &self.plans.nominations;
        if nominations.with_plans.is_empty() {
            return Vec::new();
        }
        let lower = nominations.with_plans.range(..(priority, PodUid::default()));
        let lifted: Vec<PodUid> = lower.map(|(_, uid)| uid.clone()).chain(own).collect();
        for uid in &lifted {
            if let Some(nomination) = self.plans.nominations.by_pod.get(uid) {
                self.facts.give_back(&nomination.planned);
            }
        }
        lifted
    }

    /// Whether there is room for a pod beside the nominees of a node that are at least as important.
    pub(crate) fn check_beside_nominees(
        &self,
        shape: &Shape,
        (uid, priority): (&str, i32),
        state: &NodeState,
        around: Beside<'_>,
        (settings, mounts): (&FilterSettings, Option<&Mounts>),
    ) -> Result<(), NodeRefusal> {
        if self.plans.nominations.is_empty() {
            return Ok(());
        }
        let node = filters::node_of(state);
        let matters = |one: &&Nomination| one.pod.priority >= priority && *one.pod.uid != *uid;
        let nominees: Vec<&Arc<Pod>> =
            self.plans.nominations.on(&node.name).filter(matters).map(|one| &one.pod).collect();
        if nominees.is_empty() {
            return Ok(());
        }
        let mut state = state.clone();
        nominees.iter().for_each(|pod| state.put((*pod).clone()));
        filters::usage(shape, &state, settings)?;
        if let Some(mounts) = mounts {
            mounts.check_use(&state, &self.facts.volumes)?;
        }
        let mut copy;
        let around = match around {
            Beside::Nothing => return Ok(()),
            Beside::Counted(around) => around,
            Beside::Copied(around) => {
                copy = around.clone();
                &mut copy
            }
        };
        nominees.iter().for_each(|pod| around.add(pod, node));
        let fits = around.check(&state);
        nominees.iter().for_each(|pod| around.remove(pod, node));
        fits
    }
}
