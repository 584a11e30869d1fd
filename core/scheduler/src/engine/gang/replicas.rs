//! Replicas of a group that follow one that has its seats.

use cluster::groups::{Key, Root};
use decisions::gang::{Party, STEPS_MAX};
use model::group::Group;
use model::timestamp::Timestamp;

use crate::engine::Engine;

/// How many replicas are seated one after the other in one turn.
const IN_A_ROW_MAX: usize = 64;

impl Engine {
    /// A replica is on its way: others of its group that are as important follow in the same turn, as long as there is room.
    pub(super) fn seat_siblings(&mut self, now: Timestamp, group: &Group, priority: i32) {
        if self.facts.groups.terms(&group.id).is_none() || !self.plans.nominations.is_empty() {
            return;
        }
        let siblings = self.cycle().siblings(&group.id);
        for id in siblings.into_iter().take(IN_A_ROW_MAX) {
            let root = Root::Group(id);
            let key = Key::from(&root);
            let pods = self.members_here(&root);
            let Some(group) = self.facts.groups.get(root.id()).cloned() else { continue };
            let are_alike = pods.first().is_some_and(|pod| pod.priority == priority);
            if !are_alike || pods.iter().any(|pod| self.cycle().is_unlike(pod)) {
                return;
            }
            pods.iter().for_each(|pod| self.watch_claims(pod));
            let mut cycle = self.cycle();
            let Ok(sought) = cycle.seek(&group, &pods, None) else { return };
            let found = cycle.find_seats_anew(Party::Gang(&sought), &pods, STEPS_MAX);
            let tried = cycle.tried();
            drop(cycle);
            self.gangs.tried = tried;
            let Ok((_, seated)) = found else { return };
            self.tell_seated(&group, &pods[0], seated.len());
            self.take_off(now, &key, &group, seated);
        }
    }
}
