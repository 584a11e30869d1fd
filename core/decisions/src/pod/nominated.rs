//! The node that a pod is nominated for.

use model::pod::Pod;

use crate::cycle::Cycle;
use crate::filters::{self, Around, Mounts};
use crate::pod::nominees::Beside;
use crate::profile::Profile;
use crate::values::choice::{Choice, choice};
use crate::values::pod_claims::PodClaims;

impl Cycle<'_> {
    /// The node that a pod is nominated for, if it will do by now. It is taken without looking at others.
    pub(crate) fn choose_nominated(
        &mut self,
        pod: &Pod,
        claims: &PodClaims,
        profile: &Profile,
    ) -> Option<Choice> {
        let nomination = self.plans.nominations.get(&pod.uid)?;
        let state = self.facts.nodes.get(self.facts.nodes.find(&nomination.node)?);
        let node = filters::node_of(state).clone();
        let settings = &profile.filters;
        let mounts = Mounts::new(&pod.shape, &self.facts.volumes, settings).ok()?;
        filters::fixed(&pod.shape, &node, settings).ok()?;
        mounts.check(state, &self.facts.volumes).ok()?;
        filters::usage(&pod.shape, state, settings).ok()?;
        let companions = self.companions_of(&pod.shape, profile);
        let around =
            Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions.as_ref());
        let mut around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        around.check(state).ok()?;
        let who = (&*pod.uid, pod.priority);
        let rules = (settings, Some(&mounts));
        self.check_beside_nominees(&pod.shape, who, state, Beside::Counted(&mut around), rules).ok()?;
        let allocations = self.devices_on(&node, claims).ok()?;
        let volumes = mounts.plans(&node, &self.facts.volumes);
        Some(Choice { volumes, ..choice(pod, &node, claims, allocations) })
    }
}
