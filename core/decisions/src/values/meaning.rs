//! What a refusal means, whatever its figures are.
//!
//! How many nodes lack something, and which of them comes closest, changes with every pod that comes or goes. A person who reads why a
//! pod waits has to be told anew only when it is for another reason, or about another object.

use std::fmt::Write as _;

use placement::Lack;

use crate::values::gang_reason::GangReason;
use crate::values::gang_refusal::GangRefusal;
use crate::values::pod_refusal::PodRefusal;
use crate::values::preemption::PodPreemption;

/// What a refusal means. Two that mean the same may differ in their figures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meaning(String);

impl From<&str> for Meaning {
    fn from(message: &str) -> Meaning {
        Meaning(message.to_owned())
    }
}

impl PodRefusal {
    /// What it means, with what came of preemption.
    #[must_use]
    pub fn meaning(&self, preemption: Option<&PodPreemption>) -> Meaning {
        let mut meaning = self.summary();
        match preemption {
            // Another node or other pods are news.
            Some(PodPreemption::Found { node, .. }) => meaning += &format!(" preempts on {node}"),
            Some(PodPreemption::NotEligible(why)) => meaning += &format!(" {why:?}"),
            Some(PodPreemption::Hopeless(_)) => meaning += " hopeless",
            None => {}
        }
        Meaning(meaning)
    }

    fn summary(&self) -> String {
        let mut summary = format!("{:?} {:?} {:?}", self.bound_to, self.everywhere, self.certainty);
        for reason in self.reasons.keys() {
            let _ = write!(summary, " {reason:?}");
        }
        summary
    }
}

impl GangRefusal {
    /// What it means. Whether a pod of it would fit if it were alone changes with each pod that comes or goes, unless rules keep it off
    /// all nodes, and so does what the domain lacks that comes closest.
    #[must_use]
    pub fn meaning(&self) -> Meaning {
        let mut meaning = String::new();
        add_reason(&mut meaning, &self.miss.why);
        let _ = write!(meaning, " {:?}", self.certainty);
        if let Some(alone) = self.kept_off_all() {
            meaning += &format!(" {}", alone.refusal.summary());
        }
        if let Some(preemption) = &self.preemption {
            let _ = write!(meaning, " {}", preemption.code());
        }
        Meaning(meaning)
    }
}

fn add_reason(meaning: &mut String, why: &GangReason) {
    let _ = write!(meaning, " {}", why.code());
    match why {
        GangReason::Member(one) => *meaning += &format!(" {}", one.refusal.summary()),
        GangReason::NoRoom(refusal) => {
            if let Some(Lack::Next(next)) = refusal.nearest.as_ref().map(|nearest| &nearest.lack) {
                next.reasons.keys().for_each(|reason| *meaning += reason.code());
            }
        }
        GangReason::Tree { nearest, .. } => add_reason(meaning, nearest),
        GangReason::Group { why, .. } => add_reason(meaning, why),
        GangReason::EmptyLevel { level } => *meaning += &format!(" {level}"),
        GangReason::NoTreeDomain { levels, runs } => *meaning += &format!(" {levels:?} {runs}"),
        GangReason::TooFewMembers { .. }
        | GangReason::NoDomain { .. }
        | GangReason::DevicesNotFoundAgain
        | GangReason::DeviceSets { .. }
        | GangReason::NoDeviceSet
        | GangReason::SetsOutOfReach
        | GangReason::TooManySets { .. }
        | GangReason::MemberClaims
        | GangReason::RestIsSeated
        | GangReason::NotTried
        | GangReason::TooFewWholeGroups { .. }
        | GangReason::TooFewGroupsFit { .. } => {}
    }
}
