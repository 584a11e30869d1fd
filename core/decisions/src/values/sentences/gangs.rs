//! Why a gang or a tree of groups has no nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Display;

use model::workload::Together;

use super::{Out, counts, list};
use crate::values::certainty::Certainty;
use crate::values::gang_outcome::GangOutcome;
use crate::values::gang_preemption::{GangPreemption, Helpless};
use crate::values::gang_reason::{GangReason, NextMember, SetShortage, Unplaceable};
use crate::values::gang_refusal::GangRefusal;
use crate::values::miss::Miss;

impl Display for GangRefusal {
    /// What keeps members off nodes comes first: a member that is kept off by a rule even if it were alone, or nodes that are
    /// closed to all of them. What the other nodes lack follows from that.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        if self.miss.why != GangReason::RestIsSeated {
            write!(out, "pod group is unschedulable, ")?;
        }
        let alone = self.alone.as_ref().map(|alone| alone.to_string().trim_end_matches('.').to_owned());
        let (before, after) = if self.is_kept_off() { (alone, None) } else { (None, alone) };
        match before {
            Some(alone) => write!(out, "{alone}; ")?,
            None if self.closed.is_empty() => {}
            None => write!(out, "{}; ", counts(self.closed.iter().map(|(why, nodes)| (why, *nodes))))?,
        }
        self.miss.fmt(out)?;
        if let Some(alone) = after {
            write!(out, "; {alone}")?;
        }
        match &self.preemption {
            None | Some(GangPreemption::Hopeless(Helpless::NoVictims)) => Ok(()),
            Some(why @ GangPreemption::ClaimsGiveBack { .. }) => write!(out, "; {why}"),
            Some(why) => write!(out, ", pod group preemption: {why}"),
        }
    }
}

impl Display for Miss {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self.certainty {
            Certainty::Proved => self.why.fmt(out),
            Certainty::LimitReached => write!(
                out,
                "the search limit was reached before a placement was found or excluded; the closest: {}",
                self.why
            ),
        }
    }
}

impl Display for GangReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            GangReason::Member(member) => member.fmt(out),
            GangReason::TooFewMembers { waiting, needed } => {
                write!(out, "{waiting} members wait, and {needed} are needed")
            }
            GangReason::EmptyLevel { level } => write!(out, "no node is in a domain of level {level}"),
            GangReason::NoDomain { members } => write!(out, "no domain exists for {members} members"),
            GangReason::NoRoom(refusal) => refusal.fmt(out),
            GangReason::DevicesNotFoundAgain => {
                write!(out, "devices found for some members do not fit other members of the same kind")
            }
            GangReason::DeviceSets { together, short } => {
                write!(out, "devices of its claims are to be {}: {short}", told(together))
            }
            GangReason::NoDeviceSet => write!(out, "no such device set exists"),
            GangReason::SetsOutOfReach => {
                write!(out, "no node can use all device sets of its claims")
            }
            GangReason::TooManySets { choices_max } => {
                write!(out, "more than {choices_max} combinations of device sets")
            }
            GangReason::MemberClaims => write!(out, "claims of members cannot be allocated"),
            GangReason::RestIsSeated => {
                write!(out, "the other pods of the group are scheduled, and no node fits this pod")
            }
            GangReason::NotTried => write!(out, "no attempt was made"),
            GangReason::Tree { nearest, .. } => nearest.fmt(out),
            GangReason::Group { group, beside: 0, why } => write!(out, "group {}: {why}", group.name),
            GangReason::Group { group, beside, why } => {
                write!(out, "group {} and {beside} others: {why}", group.name)
            }
            GangReason::TooFewWholeGroups { needed } => {
                write!(out, "too few of its groups have enough members, {needed} needed")
            }
            GangReason::TooFewGroupsFit { needed } => {
                write!(out, "too few of its groups fit, {needed} needed")
            }
            GangReason::NoTreeDomain { levels, runs } => {
                let lack = if *runs { "members that run are not all" } else { "no node is" };
                write!(out, "{lack} in one domain of level {}", levels.join(", "))
            }
        }
    }
}

fn told(together: &Together) -> String {
    match together {
        Together::Pool => "of one pool".to_owned(),
        Together::Attribute(attribute) => format!("of one {attribute}"),
    }
}

impl Display for SetShortage {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            SetShortage::Missing => write!(out, "there is no such set of devices"),
            SetShortage::Split => write!(out, "its allocated devices are in different sets"),
            SetShortage::Short { set, needed, free } => {
                write!(out, "{set} comes closest, {needed} needed, {free} free")
            }
        }
    }
}

impl Display for Unplaceable {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        write!(out, "pod {}: {}", self.pod, self.refusal)
    }
}

impl Display for NextMember {
    /// The reason that most nodes have comes first.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let mut by_text: BTreeMap<String, usize> = BTreeMap::new();
        for (reason, count) in &self.reasons {
            let text = match self.keys.get(reason) {
                Some(keys) => format!("{reason} (topologyKey {})", list(keys)),
                None => reason.to_string(),
            };
            *by_text.entry(text).or_default() += count;
        }
        let mut reasons: Vec<(String, usize)> = by_text.into_iter().collect();
        reasons.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        let told = reasons.into_iter().map(|(reason, count)| format!("{count} {reason}"));
        write!(out, "{}: {}", self.pod, list(told))
    }
}

impl Display for GangOutcome {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            GangOutcome::Seated { members } => write!(out, "nodes for {members} pods"),
            GangOutcome::Refused { message } | GangOutcome::MakingRoom { message } => out.write_str(message),
            GangOutcome::Placed { members } => write!(out, "{members} pods are bound"),
        }
    }
}
