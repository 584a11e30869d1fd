//! How many members the devices are for that nodes share, counted by pool and not by node.
//!
//! Each of the nodes that reach a pool could have all of its devices, if it were alone. So the room of nodes says little about the
//! room of all of them. Nodes that reach the same shared devices, and have none of their own, are asked as if they were one.
//!
//! Invariant: no more members can be seated at once than is said here.

use std::collections::BTreeMap;

use cluster::nodes::NodeIdx;
use placement::{Budget, Load};

use crate::filters;
use crate::gang::members::member::Member;
use crate::gang::search::joint_devices::{JointDevices, Need};
use crate::gang::search::view::ClusterView;

/// Nodes that reach the same devices, and how many members of each kind they take if each counts for itself.
struct Reach {
    example: NodeIdx,
    rooms: Vec<u64>,
}

impl ClusterView<'_, '_> {
    /// How many members of each kind can be seated at once at the most, if each of these nodes takes so many of each kind while
    /// there are no others.
    pub(crate) fn most_by_pools(&mut self, rooms: &[(NodeIdx, Load)]) -> Load {
        let kinds = self.cast.kinds.len();
        let mut most = vec![0_u64; kinds];
        let mut by_reach: BTreeMap<Vec<u64>, Reach> = BTreeMap::new();
        for (at, room) in rooms {
            let mut reached = Vec::new();
            let is_alike = self.likenesses.reached(self.cycle, *at, &mut reached) && !self.has_own(*at);
            let sums = match is_alike {
                true => {
                    let none = || Reach { example: *at, rooms: vec![0; kinds] };
                    &mut by_reach.entry(reached).or_insert_with(none).rooms
                }
                false => &mut most,
            };
            sums.iter_mut().zip(room.counts()).for_each(|(sum, count)| *sum += u64::from(*count));
        }
        for Reach { example, rooms } in by_reach.into_values() {
            for (kind, room) in rooms.into_iter().enumerate() {
                let members = self.cast.kinds[kind].len() as u64;
                most[kind] += u64::from(self.room_at_once(example, kind, room.min(members) as u32));
            }
        }
        let cast = self.cast;
        let counts = most.iter().zip(&cast.kinds).map(|(most, kind)| (*most).min(kind.len() as u64) as u32);
        Load::new(counts.collect::<Vec<_>>())
    }

    /// Whether a node has devices for itself that some member could get, as far as is known.
    pub(crate) fn has_own(&mut self, at: NodeIdx) -> bool {
        let name = filters::node_of(self.cycle.facts.nodes.get(at)).name.clone();
        let has_some = self.cycle.facts.slices.of_node(&name).next().is_some();
        // Devices of a class that no member asks for are of no use.
        has_some
            && (self.cast.axes.is_empty()
                || self.cast.examples().any(|member| !self.cast.axes.count_all(member))
                || self.cycle.device_amounts(&name, &self.cast.axes).iter().any(|amount| *amount > 0))
    }

    /// For how many members of a kind, up to a bound, there are devices at once where this node is.
    fn room_at_once(&mut self, at: NodeIdx, kind: usize, bound: u32) -> u32 {
        let cast = self.cast;
        let members: Vec<&Member> =
            cast.kinds[kind].iter().take(bound as usize).flat_map(|bundle| &bundle.members).collect();
        let is_counted = |member: &&Member| {
            member.follows.is_empty() && member.claims.footing.is_none() && member.claims.named.is_none()
        };
        if bound == 0 || members.len() != bound as usize || !members.iter().all(is_counted) {
            return bound;
        }
        let (_, amounts) = self.cycle.shared_amounts(&[at], &cast.axes);
        let needs = cast.axes.needs(&members[0].claims);
        let by_sum = amounts.iter().zip(&needs).filter(|(_, need)| **need > 0);
        let by_sum = by_sum.map(|(amount, need)| amount / need).min().unwrap_or(u64::MAX);
        let bound = bound.min(u32::try_from(by_sum).unwrap_or(u32::MAX));
        let mut has_devices = |count: u32| {
            let need = Need { at, members: members[..count as usize].to_vec() };
            let found =
                self.cycle.devices_beside(&[], &need, &Default::default(), &mut Budget::new(u64::MAX));
            // What is not found out may be.
            !matches!(found, JointDevices::Impossible)
        };
        if bound == 0 || has_devices(bound) {
            return bound;
        }
        let (mut most, mut refused) = (0, bound);
        while refused - most > 1 {
            let middle = most + (refused - most) / 2;
            if has_devices(middle) { most = middle } else { refused = middle }
        }
        most
    }
}
