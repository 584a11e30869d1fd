//! Why a gang has no seats.

use std::collections::BTreeMap;

use crate::values::certainty::Certainty;
use crate::values::filter_set::FilterSet;
use crate::values::gang_preemption::GangPreemption;
use crate::values::gang_reason::Unplaceable;
use crate::values::in_the_way::InTheWay;
use crate::values::miss::Miss;
use crate::values::reason::{Reason, Rule};
use crate::values::wake::Wakes;
use model::identity::PodUid;

/// Why a gang has no seats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GangRefusal {
    /// What came closest.
    pub miss: Miss,
    /// A member that has no node even if it were alone.
    pub alone: Option<Unplaceable>,
    /// How many nodes are closed to its members that could have some otherwise, by reason.
    pub closed: BTreeMap<Reason, usize>,
    /// What is done to make room, or why nothing is.
    pub preemption: Option<GangPreemption>,
    /// What could undo it.
    pub wakes_on: Wakes,
    /// The filters that say so.
    pub filters: FilterSet,
    /// Whether there certainly is no place.
    pub certainty: Certainty,
    /// Claims of members that have devices of no use to any pod, and for which pod they give them back.
    pub in_the_way: Vec<(InTheWay, PodUid)>,
}

impl GangRefusal {
    /// What came closest, and what could undo it.
    pub fn new(miss: Miss, wakes_on: Wakes, filters: FilterSet) -> GangRefusal {
        let certainty = miss.certainty;
        GangRefusal {
            miss,
            alone: None,
            closed: BTreeMap::new(),
            preemption: None,
            wakes_on,
            filters,
            certainty,
            in_the_way: Vec::new(),
        }
    }

    /// The same, with a member that has no node even if it were alone: its filters are those that matter.
    #[must_use]
    pub fn with_alone(self, alone: Option<Unplaceable>) -> GangRefusal {
        let filters = alone.as_ref().map_or(self.filters, |alone| alone.refusal.filters());
        GangRefusal { alone, filters, ..self }
    }

    /// The same, with the nodes that are closed to its members and could have some otherwise.
    #[must_use]
    pub fn with_closed(self, closed: BTreeMap<Reason, usize>) -> GangRefusal {
        GangRefusal { closed, ..self }
    }

    /// Whether a member has no node even if it were alone, because of a rule, and not only for lack of room or devices.
    pub(crate) fn is_kept_off(&self) -> bool {
        let is_room = |reason: &Reason| matches!(reason, Reason::Rule(Rule::Short(_)) | Reason::Devices(_));
        self.alone.as_ref().is_some_and(|alone| {
            alone.refusal.everywhere().is_some()
                || !alone.refusal.removed().all(|(reason, _)| is_room(reason))
        })
    }

    /// A member that no node would take although there were room and devices on all of them, whatever pods come or go there.
    pub(crate) fn kept_off_all(&self) -> Option<&Unplaceable> {
        let is_rule =
            |reason: &Reason| matches!(reason, Reason::Rule(rule) if !matches!(rule, Rule::Short(_)));
        self.alone.as_ref().filter(|alone| {
            let mut removed = alone.refusal.removed().peekable();
            alone.refusal.everywhere().is_some()
                || removed.peek().is_some() && removed.all(|(reason, _)| is_rule(reason))
        })
    }

    /// Room is being made. It is known now what the gang waits for, so it is tried as soon as that happens.
    pub fn waits_for(&mut self, wakes: Wakes) {
        self.wakes_on = std::mem::take(&mut self.wakes_on).or(wakes);
        self.certainty = Certainty::Proved;
    }
}
