//! Gives the seats of a placement to members.

use std::collections::VecDeque;

use cluster::nodes::NodeIdx;
use cluster::volumes::VolumePlan;
use model::volume::VolumeClaimId;
use placement::{Budget, Load, Placement};

use crate::cycle::Cycle;
use crate::filters::{self, Mounts};
use crate::gang::answer::seats::Seated;
use crate::gang::members::cast::Cast;
use crate::gang::members::member::{Bundle, Member};
use crate::gang::search::joint_devices::{JointDevices, NodeDevices, needs};
use crate::gang::search::joint_volumes::JointVolumes;
use crate::gang::search::node_devices::Devices;
use crate::values::gang_reason::GangReason;

/// How many steps it may take to find the devices again that seats were found with.
const STEPS_MAX: u64 = 2_000_000;

impl Cycle<'_> {
    /// Gives the seats of a placement to members that are each by themselves. The first that has a claim which others share
    /// brings its devices, and the others follow.
    pub(crate) fn hand_out_apart(
        &mut self,
        cast: &Cast,
        placement: &Placement,
    ) -> Result<Seated, GangReason> {
        let loads: Vec<(NodeIdx, Load)> =
            placement.seats.iter().map(|seats| (seats.node, seats.load.clone())).collect();
        let needs = needs(cast, &loads);
        let kept = self.caches.work.begin_hand_out();
        let found = self.devices_across_nodes(&needs, &mut Budget::new(STEPS_MAX));
        self.caches.work.end_hand_out(kept);
        let JointDevices::Found(steps) = found else {
            return Err(GangReason::DevicesNotFoundAgain);
        };
        let mut seated = Vec::new();
        for (need, NodeDevices { own, mut shared, .. }) in needs.iter().zip(steps) {
            let node = filters::node_of(self.facts.nodes.get(need.at)).clone();
            for (member, mut allocations) in need.members.iter().zip(own) {
                let mut member = Member::clone(member);
                let is_followed = |id| member.follows.iter().any(|state| state.wish.id == id);
                let (brought, rest): (Vec<_>, Vec<_>) =
                    shared.into_iter().partition(|(state, _)| is_followed(state.wish.id.clone()));
                shared = rest;
                for (state, allocation) in brought {
                    member.follows.retain(|known| known.wish.id != state.wish.id);
                    // What has yet to be made comes last.
                    allocations.insert(member.claims.open.len(), allocation);
                    member.claims.open.push(state);
                }
                seated.push((member.pod.clone(), member.seat(&node, allocations)));
            }
        }
        self.add_volumes(&mut seated, cast)?;
        Ok(seated)
    }

    /// Gives the seats of a placement to members.
    pub(crate) fn hand_out(&mut self, cast: &Cast, placement: &Placement) -> Result<Seated, GangReason> {
        let mut left: Vec<VecDeque<&Bundle>> = cast.kinds.iter().map(|kind| kind.iter().collect()).collect();
        let mut seated = Vec::new();
        let kept = self.caches.work.begin_hand_out();
        for seats in &placement.seats {
            let members: Vec<&Member> = seats
                .load
                .present()
                .flat_map(|(kind, count)| left[kind].drain(..count as usize).collect::<Vec<_>>())
                .flat_map(|bundle| &bundle.members)
                .collect();
            let Devices::Found(found, _) = self.devices_for(seats.node, &members) else {
                self.caches.work.end_hand_out(kept);
                return Err(GangReason::DevicesNotFoundAgain);
            };
            let node = filters::node_of(self.facts.nodes.get(seats.node));
            for (member, allocations) in members.into_iter().zip(found) {
                seated.push((member.pod.clone(), member.seat(node, allocations)));
            }
        }
        self.caches.work.end_hand_out(kept);
        self.add_volumes(&mut seated, cast)?;
        Ok(seated)
    }

    /// Adds how claims without a volume get one.
    fn add_volumes(&self, seated: &mut Seated, cast: &Cast) -> Result<(), GangReason> {
        if !cast.examples().any(|member| member.pod.shape.has_volumes()) {
            return Ok(());
        }
        let mut joint = JointVolumes::default();
        let mut of_pods: Vec<Vec<VolumeClaimId>> = Vec::with_capacity(seated.len());
        for (pod, choice) in &*seated {
            let profile = self.settings.profile_of(pod);
            let at = self.facts.nodes.find(&choice.node);
            let node = at.map(|at| filters::node_of(self.facts.nodes.get(at)));
            let mounts = Mounts::new(&pod.shape, &self.facts.volumes, &profile.filters).unwrap_or_default();
            of_pods.push(mounts.unbound().map(|unbound| unbound.claim.id.clone()).collect());
            node.into_iter().for_each(|node| joint.add(&mounts, node));
        }
        let plans = joint.plans(&self.facts.volumes).map_err(|_| GangReason::DevicesNotFoundAgain)?;
        for ((_, choice), claims) in seated.iter_mut().zip(of_pods) {
            let is_its = |plan: &&VolumePlan| claims.contains(&plan.claim.id);
            choice.volumes = plans.iter().filter(is_its).cloned().collect();
        }
        Ok(())
    }
}
