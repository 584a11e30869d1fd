//! Why a gang has no seats.

use crate::values::certainty::Certainty;
use crate::values::filter_set::FilterSet;
use crate::values::gang_preemption::GangPreemption;
use crate::values::gang_reason::Unplaceable;
use crate::values::in_the_way::InTheWay;
use crate::values::miss::Miss;
use crate::values::wake::Wakes;
use model::identity::PodUid;

/// Why a gang has no seats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GangRefusal {
    /// What came closest.
    pub miss: Miss,
    /// A member that has no node even if it were alone.
    pub alone: Option<Unplaceable>,
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

    /// Room is being made. It is known now what the gang waits for, so it is tried as soon as that happens.
    pub fn waits_for(&mut self, wakes: Wakes) {
        self.wakes_on = std::mem::take(&mut self.wakes_on).or(wakes);
        self.certainty = Certainty::Proved;
    }
}
