//! The best node for a pod: the one that it is nominated for, the one that is known for pods like it, or one that is found anew.

use model::identity::NodeName;
use model::node::Node;
use model::pod::Pod;

use crate::caches::refusals::AlikePods;
use crate::cycle::Cycle;
use crate::devices::wakes::add_node;
use crate::filters;
use crate::values::choice::{Choice, choice};
use crate::values::filter_set::Filter;
use crate::values::no_devices::NoDevices;
use crate::values::openings::Openings;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::PodRefusal;
use crate::values::reason::Reason;
use crate::values::wake::Wake;

impl Cycle<'_> {
    /// The best node for a pod.
    pub fn choose(&mut self, pod: &Pod) -> Result<Choice, Box<PodRefusal>> {
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile)?;
        if !claims.pending.is_empty() {
            return self.choose_negotiated(pod, &claims, &profile);
        }
        if let Some(choice) = self.choose_nominated(pod, &claims, &profile) {
            return Ok(choice);
        }
        if self.plans.has_shunned(&pod.uid) || !self.is_alike_to_others(pod, &claims, &profile) {
            return self.choose_anew(pod, &claims, &profile);
        }
        if let Some(choice) = self.choose_alike(pod, &claims, &profile)? {
            return Ok(choice);
        }
        let chosen = self.choose_anew(pod, &claims, &profile);
        if let Err(refusal) = &chosen
            && !self.caches.work.is_cut()
        {
            let companions = self.companions_of(&pod.shape, &profile);
            let pods = AlikePods { pod, claims: &claims, profile: &profile, companions: companions.as_ref() };
            self.caches.refusals.remember_refused(pods, self.moment(), refusal);
        }
        chosen
    }

    /// Devices for the claims of a pod that is on a node already. Nothing else about the node is asked.
    pub fn choose_there(&mut self, pod: &Pod, node: &NodeName) -> Result<Choice, Box<PodRefusal>> {
        let bound =
            |refusal: Box<PodRefusal>| Box::new(PodRefusal { bound_to: Some(node.clone()), ..*refusal });
        let Some(at) = self.facts.nodes.find(node) else {
            let wakes = Wake::NodeAdded.of_node(node);
            return Err(bound(PodRefusal::of_all_nodes(0, Reason::NoSuchNode, None, wakes)));
        };
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile).map_err(bound)?;
        let there = filters::node_of(self.facts.nodes.get(at)).clone();
        let NoDevices { reason, nearest, certainty } = match self.devices_on(&there, &claims) {
            Ok(_) if !claims.pending.is_empty() => return Ok(Cycle::negotiated_there(pod, &there, &claims)),
            Ok(allocations) => return Ok(choice(pod, &there, &claims, allocations)),
            Err(why) => why,
        };
        let own = claims.own();
        let mut wakes = Wake::NodeAdded.of_node(node).or(self.device_wakes(&claims, reason.breadth()));
        add_node(&mut wakes, node, &claims);
        let refusal = bound(PodRefusal::of_all_nodes(1, reason, Some(Filter::Devices), wakes));
        let in_the_way = self.in_the_way(pod, &claims, &[at]);
        Err(Box::new(PodRefusal { nearest, in_the_way, own, certainty, ..*refusal }))
    }

    /// The best node for a pod, without the devices that failed for it before. Its own node comes first, if another device is
    /// to be had there.
    pub fn choose_other(&mut self, pod: &Pod) -> Option<Choice> {
        let mark = self.facts.mark();
        if !self.hold_shunned([pod]) {
            return None;
        }
        let chosen = self.choose(pod);
        self.facts.rewind(mark);
        chosen.ok()
    }

    /// The node of a pod that was bound by hand; its claims have devices to come.
    pub(crate) fn negotiated_there(pod: &Pod, node: &Node, claims: &PodClaims) -> Choice {
        let mut there = choice(pod, node, claims, Vec::new());
        there.negotiation = Openings::at(claims, node);
        there
    }
}
