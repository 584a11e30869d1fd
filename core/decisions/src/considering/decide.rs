//! The decision about a pod, a gang or a tree: a place, or why there is none and which pods would have to make way.

use std::sync::Arc;

use cluster::groups::Root;
use model::group::Group;
use model::pod::Pod;

use crate::considering::question::{
    Clearing, GangVerdict, NoSeats, PartySought, PodVerdict, SchedulingQuestion, SchedulingVerdict,
    SeatsVerdict,
};
use crate::considering::situation::Situation;
use crate::cycle::Cycle;
use crate::filters::{Filter, FilterSet};
use crate::gang::{GangRefusal, Party, STEPS_MAX, Sought, Tried, Way, importance};
use crate::values::miss::Miss;
use crate::values::wake::Wakes;

impl Situation<'_> {
    /// Where pods go, or why nowhere; nothing if the slice of work is over before that is known.
    pub fn decide(&mut self, question: &SchedulingQuestion) -> Option<SchedulingVerdict> {
        if !matches!(question, SchedulingQuestion::Pod(_))
            && !self.caches.work.may_survey(self.facts.nodes.count_max())
        {
            return None;
        }
        Some(match question {
            SchedulingQuestion::Pod(pod) => SchedulingVerdict::Pod(Box::new(self.decide_pod(pod)?)),
            SchedulingQuestion::Gang { group, members, is_nominated } => {
                SchedulingVerdict::Gang(Box::new(self.decide_gang(group, members, *is_nominated)?))
            }
            SchedulingQuestion::Tree { root, members } => {
                SchedulingVerdict::Gang(Box::new(self.decide_tree(root, members)?))
            }
        })
    }

    /// Whether the slice of work is over, so that what was not found so far means nothing.
    fn is_cut(&self) -> bool {
        self.caches.work.is_cut()
    }

    fn decide_pod(&mut self, pod: &Arc<Pod>) -> Option<PodVerdict> {
        let mut cycle = self.cycle();
        cycle.learn_scopes(pod);
        let lifted = cycle.lift_plans(pod);
        let kept = cycle.work().keep_for_later();
        let chosen = match &pod.node {
            Some(node) => cycle.choose_there(pod, node),
            None => cycle.choose_other(pod).map_or_else(|| cycle.choose(pod), Ok),
        };
        cycle.work().restore(kept);
        drop(cycle);
        match chosen {
            Ok(choice) => Some(PodVerdict::Placed { choice, lifted }),
            Err(_) if self.is_cut() => None,
            Err(refusal) => {
                // A pod that is on a node did not ask whether there is room, and no pod goes for that. Nor has one to go if a
                // claim that no pod uses gives its devices back, or while it is known in a moment whether the pod gets a claim.
                let may_preempt =
                    pod.node.is_none() && refusal.in_the_way().is_none() && !refusal.awaits_write();
                let attempt = may_preempt.then(|| {
                    let mut cycle = self.cycle();
                    cycle.lift_plans(pod);
                    cycle.attempt(pod, &refusal)
                });
                (!self.is_cut()).then_some(PodVerdict::Refused { refusal, attempt })
            }
        }
    }

    fn decide_gang(
        &mut self,
        group: &Arc<Group>,
        members: &[Arc<Pod>],
        is_nominated: bool,
    ) -> Option<GangVerdict> {
        let mut cycle = self.cycle();
        members.iter().for_each(|pod| cycle.learn_scopes(pod));
        if !is_nominated {
            let replicas = cycle.seat_replicas(group, members);
            let tried = cycle.tried();
            drop(cycle);
            // Not all of them were looked at.
            if self.is_cut() {
                return None;
            }
            if !replicas.is_empty() {
                return Some(GangVerdict { tried, seats: SeatsVerdict::Replicas(replicas) });
            }
        } else {
            drop(cycle);
        }
        let mut cycle = self.cycle();
        let lifted = cycle.lift_plans_below(importance(group, members), None);
        let sought = match cycle.seek(group, members, None) {
            Ok(sought) => sought,
            Err(refusal) => {
                let tried = cycle.tried();
                drop(cycle);
                let unfit = GangVerdict { tried, seats: SeatsVerdict::Unfit(refusal) };
                return (!self.is_cut()).then_some(unfit);
            }
        };
        let found = cycle.find_seats_anew(Party::Gang(&sought), members, STEPS_MAX);
        let tried = cycle.tried();
        drop(cycle);
        let seats = match found {
            Ok((domain, seated)) => {
                let drawn = self.cycle().drawn_besides(&sought, Some((&domain, &seated)));
                let way = self.way_to_drawn(drawn, group, members)?;
                let found = || SeatsVerdict::Seats { in_the_way: sought.in_the_way, seated, lifted };
                way.map_or_else(found, SeatsVerdict::NoSeats)
            }
            Err(_) if self.is_cut() => return None,
            Err(miss) => {
                let drawn = self.cycle().drawn_besides(&sought, None);
                let way = match self.way_to_drawn(drawn, group, members)? {
                    Some(way) => way,
                    None => self.no_gang_seats(sought, group, members, miss)?,
                };
                SeatsVerdict::NoSeats(way)
            }
        };
        Some(GangVerdict { tried, seats })
    }

    /// Seats on nodes that were drawn for members, if pods can be preempted there.
    fn way_to_drawn(
        &mut self,
        drawn: Option<Sought>,
        group: &Arc<Group>,
        members: &[Arc<Pod>],
    ) -> Option<Option<Box<NoSeats>>> {
        let Some(drawn) = drawn else { return Some(None) };
        let mut cycle = self.cycle_below(importance(group, members));
        let found = cycle.find_seats_anew(Party::Gang(&drawn), members, STEPS_MAX);
        drop(cycle);
        let Err(miss) = found else { return Some(None) };
        let none = self.no_gang_seats(drawn, group, members, miss)?;
        Some(Some(none).filter(|none| matches!(none.way, Clearing::Pods(Way::Found(_) | Way::Coming(_)))))
    }

    fn no_gang_seats(
        &mut self,
        sought: Sought,
        group: &Arc<Group>,
        members: &[Arc<Pod>],
        miss: Miss,
    ) -> Option<Box<NoSeats>> {
        let helps = |cycle: &mut Cycle<'_>, miss: &Miss| cycle.helps(group, members, Some((&sought, miss)));
        let (refusal, way) = self.no_seats(Party::Gang(&sought), members, miss, helps)?;
        Some(Box::new(NoSeats { sought: PartySought::Gang(sought), refusal, way }))
    }

    fn decide_tree(&mut self, root: &Root, members: &[Arc<Pod>]) -> Option<GangVerdict> {
        let mut cycle = self.cycle();
        members.iter().for_each(|pod| cycle.learn_scopes(pod));
        let Some(tree) = cycle.seek_tree(root, members) else {
            return Some(GangVerdict { tried: Tried::default(), seats: SeatsVerdict::NoTree });
        };
        drop(cycle);
        let party = Party::Tree(&tree);
        let mut cycle = self.cycle();
        let lifted = cycle.lift_plans_below(party.importance(members), None);
        let found = cycle.find_seats_anew(party, members, STEPS_MAX);
        let tried = cycle.tried();
        drop(cycle);
        let seats = match found {
            Ok((_, seated)) => SeatsVerdict::Seats { in_the_way: tree.in_the_way, seated, lifted },
            Err(_) if self.is_cut() => return None,
            Err(miss) => {
                let helps = |cycle: &mut Cycle<'_>, miss: &Miss| cycle.helps_tree(&tree, members, miss);
                let (refusal, way) = self.no_seats(party, members, miss, helps)?;
                SeatsVerdict::NoSeats(Box::new(NoSeats { sought: PartySought::Tree(tree), refusal, way }))
            }
        };
        Some(GangVerdict { tried, seats })
    }

    /// Why there are no seats, and what would make room.
    fn no_seats(
        &mut self,
        party: Party<'_>,
        members: &[Arc<Pod>],
        miss: Miss,
        helps: impl FnOnce(&mut Cycle<'_>, &Miss) -> Wakes,
    ) -> Option<(GangRefusal, Clearing)> {
        let filters: FilterSet = [Filter::Resources].into_iter().collect();
        let importance = party.importance(members);
        let mut cycle = self.cycle_below(importance);
        let (alone, wakes_on) = (cycle.why_alone(members), helps(&mut cycle, &miss));
        let closed = if alone.is_none() { cycle.closed_nodes(members) } else { Default::default() };
        drop(cycle);
        let refusal = GangRefusal::new(miss, wakes_on, filters).with_alone(alone).with_closed(closed);
        let idle = self.cycle_below(importance).claims_in_the_way(party, members);
        let way = match idle {
            Some(claims) => Clearing::Claims(claims),
            None => Clearing::Pods(self.cycle_below(importance).look_for_way(party, members)),
        };
        (!self.is_cut()).then_some((refusal, way))
    }
}
