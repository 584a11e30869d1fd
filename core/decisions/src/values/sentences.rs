//! The words of every reason, in one place: in Kubernetes' words where it has some, which tools look for, and in ours where it has none.

use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Display;

use model::claim::ClaimId;
use model::workload::{Replica, Together};

use crate::values::certainty::Certainty;
use crate::values::gang_preemption::{GangPreemption, Helpless};
use crate::values::gang_reason::{GangReason, NextMember, SetShortage, Unplaceable};
use crate::values::gang_refusal::GangRefusal;
use crate::values::in_the_way::{InTheWay, Remedy};
use crate::values::lacking::Lacking;
use crate::values::miss::Miss;
use crate::values::node_refusal::NodeRefusal;
use crate::values::not_ready::{Awaited, ClaimLost, NotReady};
use crate::values::pod_refusal::{Nearest, PodRefusal};
use crate::values::preemption::{Hopeless, Ineligible, PodPreemption};
use crate::values::reason::{
    ClaimReason, DeviceClash, DeviceReason, PreemptionReason, Reason, ResourceName, Rule, VolumeRefusal,
};

type Out<'a, 'b> = &'a mut fmt::Formatter<'b>;

impl Display for PodRefusal {
    /// Kubernetes' sentence, which tools look for, and ours after it.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match &self.bound_to {
            Some(node) => write!(out, "bound to node {node} without devices for its claims:")?,
            None if self.nodes == 0 => return write!(out, "no nodes available to schedule pods"),
            None => write!(out, "0/{} nodes are available:", self.nodes)?,
        }
        match &self.everywhere {
            Some(reason) => write!(out, " {reason}.")?,
            None => {
                let counted = self.reasons.iter().map(|(reason, removed)| (reason, removed.nodes));
                write!(out, " {}.", counts(counted))?;
            }
        }
        if let Some(nearest) = &self.nearest {
            write!(out, " {nearest}.")?;
        }
        match &self.in_the_way {
            Some(InTheWay { claim, remedy: Remedy::Deallocate, .. }) => {
                write!(out, " Claim {claim} gives its devices back, since nobody uses it.")
            }
            Some(InTheWay { claim, remedy: Remedy::Delete, .. }) => {
                write!(out, " Claim {claim}, which an earlier attempt left, is deleted.")
            }
            None => Ok(()),
        }
    }
}

impl PodRefusal {
    /// What the condition of the pod says: why it has no place, and what came of preemption.
    #[must_use]
    pub fn message(&self, preemption: Option<&PodPreemption>) -> String {
        preemption.map_or_else(|| self.to_string(), |preemption| format!("{self} preemption: {preemption}"))
    }
}

/// Reasons with their numbers, in the order of the alphabet.
fn counts<'r>(reasons: impl Iterator<Item = (&'r Reason, usize)>) -> String {
    let mut counted: Vec<String> = reasons.map(|(reason, count)| format!("{count} {reason}")).collect();
    counted.sort_unstable();
    counted.join(", ")
}

impl Display for Nearest {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Nearest::Refused { node, refusal } => write!(out, "On node {node}, {refusal}"),
            Nearest::LimitReached { node } => write!(
                out,
                "On node {node}, the search reached its limit before it found devices or proved that there are none"
            ),
            Nearest::Unsuitable { node, entry, driver, by_class: true } => write!(
                out,
                "On node {node}, claim {entry} gets no devices of resource driver {driver}: its class does not allow the node"
            ),
            Nearest::Unsuitable { node, entry, driver, by_class: false } => {
                write!(out, "On node {node}, resource driver {driver} has no devices for claim {entry}")
            }
        }
    }
}

impl Display for Reason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Reason::Rule(rule) => rule.fmt(out),
            Reason::Volume(refusal) => refusal.fmt(out),
            Reason::Claim(reason) => reason.fmt(out),
            Reason::Devices(reason) => reason.fmt(out),
            Reason::Preemption(reason) => reason.fmt(out),
            Reason::NoSuchNode => write!(out, "there is no such node"),
        }
    }
}

impl Display for NodeRefusal {
    /// Several things that are wrong are separated by commas.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(&list(self.reasons()))
    }
}

/// Things separated by commas.
fn list(all: impl IntoIterator<Item = impl Display>) -> String {
    let told: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    told.join(", ")
}

impl Display for Rule {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            Rule::Short(resource) => return resource.fmt(out),
            Rule::OtherNode => "node(s) didn't match the requested node name",
            Rule::Unschedulable => "node(s) were unschedulable",
            Rule::Taint => "node(s) had untolerated taint(s)",
            Rule::NotNamed => "node(s) didn't satisfy plugin(s) [NodeAffinity]",
            Rule::NamesConflict => "pod affinity terms conflict",
            Rule::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Rule::EnforcedNodeAffinity => "node(s) didn't match scheduler-enforced node affinity",
            Rule::VolumeInUse => {
                "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"
            }
            Rule::Port => "node(s) didn't have free ports for the requested pod ports",
            Rule::NoSpreadLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Rule::Skewed => "node(s) didn't match pod topology spread constraints",
            Rule::NotNear => "node(s) didn't match pod affinity rules",
            Rule::NotApart => "node(s) didn't match pod anti-affinity rules",
            Rule::Unwelcome => "node(s) didn't satisfy existing pods anti-affinity rules",
            Rule::DiskInUse => "node(s) had no available disk",
            Rule::TooManyVolumes => "node(s) exceed max volume count",
            Rule::DriverMissing(driver) => return write!(out, "{driver} CSI driver is not installed on the node"),
            Rule::VolumeElsewhere => "node(s) didn't match PersistentVolume's node affinity",
            Rule::NoVolumeForClaim => "node(s) didn't find available persistent volumes to bind",
            Rule::StorageShort => "node(s) did not have enough free storage",
            Rule::VolumeMissing => "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            Rule::VolumeZone => "node(s) had no available volume zone",
            Rule::Feature => "node(s) didn't match Pod's required features",
        })
    }
}

impl Display for ResourceName {
    /// That there is too little of it.
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            ResourceName::Pods => write!(out, "Too many pods"),
            ResourceName::Cpu => write!(out, "Insufficient cpu"),
            ResourceName::Memory => write!(out, "Insufficient memory"),
            ResourceName::EphemeralStorage => write!(out, "Insufficient ephemeral-storage"),
            ResourceName::Other(name) => write!(out, "Insufficient {name}"),
        }
    }
}

impl Display for VolumeRefusal {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            VolumeRefusal::NoClaim { claim } => write!(out, "persistentvolumeclaim \"{claim}\" not found"),
            VolumeRefusal::NotMade { claim } => write!(
                out,
                "waiting for ephemeral volume controller to create the persistentvolumeclaim \"{claim}\""
            ),
            VolumeRefusal::NotOwn { namespace, claim, pod } => write!(
                out,
                "PVC {namespace}/{claim} was not created for pod {namespace}/{pod} (pod is not owner)"
            ),
            VolumeRefusal::Lost { claim, volume } => write!(
                out,
                "persistentvolumeclaim \"{claim}\" bound to non-existent persistentvolume \"{volume}\""
            ),
            VolumeRefusal::Deleting { claim } => {
                write!(out, "persistentvolumeclaim \"{claim}\" is being deleted")
            }
            VolumeRefusal::Unbound { .. } => write!(out, "pod has unbound immediate PersistentVolumeClaims"),
            VolumeRefusal::NoVolume { volume } => write!(out, "persistentvolume \"{volume}\" not found"),
        }
    }
}

impl Display for ClaimReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let named = |claim: &ClaimId| format!("resourceclaim \"{}\"", claim.name);
        match self {
            ClaimReason::ExtendedLeft(_) => write!(out, "cannot schedule extended resource claim"),
            ClaimReason::ExtendedBeingMade => {
                write!(out, "the pod's extended resource claim is in the process of being made")
            }
            ClaimReason::NotCreated { entry } => write!(out, "resource claim {entry} was not created yet"),
            ClaimReason::SourceUnknown { entry } => {
                write!(out, "resource claim {entry} names nothing that is known")
            }
            ClaimReason::NotFound(claim) => write!(out, "{} not found", named(claim)),
            ClaimReason::Deleting(claim) => write!(out, "{} is being deleted", named(claim)),
            ClaimReason::NotOwn(claim) => write!(out, "{} was not created for the pod", named(claim)),
            ClaimReason::BeingAllocated(claim) => {
                write!(out, "resource claim {claim} is in the process of being allocated")
            }
            ClaimReason::BeingDeallocated(claim) => {
                write!(out, "resource claim {claim} is in the process of being deallocated")
            }
            ClaimReason::NotReady(why) => why.fmt(out),
            ClaimReason::Clash(clash) => clash.fmt(out),
            ClaimReason::Full { claim, consumers } => {
                write!(out, "{} has {consumers} consumers, the most there may be", named(claim))
            }
            ClaimReason::FullWithGroup { claim, consumers_max } => write!(
                out,
                "{} may have {consumers_max} consumers at most, and other pods of the group are as many",
                named(claim)
            ),
            ClaimReason::PartOfNode(claim) => {
                write!(out, "{} has a device that is a part of its node, and cannot be shared", named(claim))
            }
            ClaimReason::ControllerOff(claim) => {
                write!(out, "{} depends on disabled DRAControlPlaneController feature", named(claim))
            }
            ClaimReason::MustBeReallocated(claim) => write!(out, "{} must be reallocated", named(claim)),
            ClaimReason::NotShareable(claim) => {
                write!(out, "{} is in use, and cannot be shared", named(claim))
            }
            ClaimReason::MixedControllers(claim) => write!(
                out,
                "{} asks for devices of a driver's controller and for others, which one claim cannot do",
                named(claim)
            ),
            ClaimReason::Immediate { claim, driver } => {
                write!(out, "unallocated immediate {}: driver {driver} is to allocate it", named(claim))
            }
        }
    }
}

impl Display for DeviceClash {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let DeviceClash { claim, device, rival } = self;
        write!(out, "device {device} of claim {claim} was given to ")?;
        if rival.namespace == claim.namespace {
            write!(out, "claim {rival} as well")
        } else {
            // A reader may have no access to claims of other namespaces.
            write!(out, "a claim in another namespace as well")
        }
    }
}

impl Display for NotReady {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            NotReady::Failed { claim, device, failed } => {
                write!(out, "device binding failed: claim={claim}, device={device}: {failed}")
            }
            NotReady::TimedOut { claim, device, after_ms } => {
                write!(out, "device binding timeout: claim={claim}, {device} after {} s", after_ms / 1000)
            }
        }
    }
}

impl Display for Awaited {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        write!(out, "claim {}, {}", self.claim, self.device)
    }
}

impl Display for ClaimLost {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            ClaimLost::Gone(claim) => write!(out, "claim {claim}: it is gone"),
            ClaimLost::Deallocated(claim) => {
                write!(out, "claim {claim}: it lost its devices in the meantime")
            }
        }
    }
}

impl Display for DeviceReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            DeviceReason::ClaimElsewhere => write!(out, "resourceclaim not available on the node"),
            DeviceReason::ExcludedByClass => write!(out, "excluded by device class node filter"),
            DeviceReason::ExcludedByDriver => {
                write!(out, "resourceclaim cannot be allocated for the node (unsuitable)")
            }
            DeviceReason::Insufficient => write!(out, "cannot allocate all claims"),
            DeviceReason::InvalidPools => write!(out, "invalid resource pools were encountered"),
            DeviceReason::LimitReached => write!(out, "reached the limit of the search for devices"),
            DeviceReason::ShortForDevices(resources) => out.write_str(&list(resources)),
            DeviceReason::NotSharedByCapacity { device, resource, capacity } => write!(
                out,
                "device {device} is {resource} by its capacity {capacity}, and is not shared by capacity"
            ),
            DeviceReason::RequestTooSmall { resource } => {
                write!(out, "the pod's request for {resource} does not cover what its devices take")
            }
            DeviceReason::SliceSelector(bad) => bad.fmt(out),
            DeviceReason::Question(error) => error.fmt(out),
        }
    }
}

impl Display for PreemptionReason {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            PreemptionReason::NoVictims => "No preemption victims found for incoming pod",
            PreemptionReason::NotTried => "reached the limit of the search for pods to preempt",
            PreemptionReason::NotHelpful => "Preemption is not helpful for scheduling",
        })
    }
}

impl Display for PodPreemption {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            PodPreemption::NotEligible(why) => why.fmt(out),
            PodPreemption::Hopeless(why) => why.fmt(out),
            PodPreemption::Found { node, victims } => write!(
                out,
                "found a potential placement for pod on node {node}, preempting {victims} victims"
            ),
        }
    }
}

impl Display for Ineligible {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(match self {
            Ineligible::Never => "not eligible due to preemptionPolicy=Never.",
            Ineligible::Terminating => "not eligible due to a terminating pod on the nominated node.",
            Ineligible::Releasing => {
                "not eligible due to devices of a preempted pod that are yet to be released."
            }
        })
    }
}

impl Display for Hopeless {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        let reasons = self.reasons.iter().map(|(reason, count)| (reason, *count));
        write!(out, "0/{} nodes are available: {}.", self.nodes, counts(reasons))
    }
}

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

impl Display for GangPreemption {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            GangPreemption::ClaimsGiveBack { claims } => {
                write!(out, "{claims} claims that nobody uses give their devices back")
            }
            GangPreemption::NotEligible => Ineligible::Never.fmt(out),
            GangPreemption::Hopeless(why) => why.fmt(out),
            GangPreemption::Ongoing => write!(out, "ongoing preemption on nominated nodes"),
            GangPreemption::Found { victims } => {
                write!(out, "found a placement for podgroup, preempting {victims} victims")
            }
        }
    }
}

impl Display for Helpless {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Helpless::NoVictims => write!(out, "no pod could go"),
            Helpless::Lacks(miss) => write!(out, "even without those that could go, {miss}"),
            Helpless::LimitReached => write!(out, "the search for pods to preempt reached its limit"),
        }
    }
}

impl Display for Miss {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self.certainty {
            Certainty::Proved => self.why.fmt(out),
            Certainty::LimitReached => write!(
                out,
                "the search reached its limit before it found a placement or proved that there is none; the closest: {}",
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
            GangReason::NoDomain { members } => write!(out, "there is no domain for {members} members"),
            GangReason::NoRoom(refusal) => refusal.fmt(out),
            GangReason::DevicesNotFoundAgain => {
                write!(out, "devices that were found for members are none for others like them")
            }
            GangReason::DeviceSets { together, short } => {
                write!(out, "devices of its claims are to be {}: {short}", told(together))
            }
            GangReason::NoDeviceSet => write!(out, "there is no set of devices"),
            GangReason::SetsOutOfReach => {
                write!(out, "no node reaches all sets of devices that its claims are to be met from")
            }
            GangReason::TooManySets { choices_max } => {
                write!(out, "there are more than {choices_max} choices of sets of devices")
            }
            GangReason::MemberClaims => write!(out, "members have claims that cannot be met"),
            GangReason::RestIsSeated => {
                write!(out, "the rest of the pod group has its nodes, and there is no room for this one")
            }
            GangReason::NotTried => write!(out, "nothing was tried any more"),
            GangReason::Tree { nearest, .. } => nearest.fmt(out),
            GangReason::Group { group, beside: 0, why } => write!(out, "group {}: {why}", group.name),
            GangReason::Group { group, beside, why } => {
                write!(out, "group {} beside {beside} others: {why}", group.name)
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

impl Lacking {
    /// What is lacking, and what can be done about it.
    #[must_use]
    pub fn with_hint(&self) -> String {
        let hint = match self {
            Lacking::Claim(claim) => format!("create ResourceClaim {claim}"),
            Lacking::Template { namespace, template } => format!(
                "check that ResourceClaimTemplate {namespace}/{template} exists, and that kube-controller-manager or `supercargo \
                 controllers` runs"
            ),
            Lacking::Members { .. } | Lacking::Groups { .. } => {
                "create the missing pods, or lower minCount".to_owned()
            }
            _ => return self.to_string(),
        };
        // It is told when a controller has had time enough.
        let nobody = if matches!(self, Lacking::Template { .. }) { ", and nobody creates it" } else { "" };
        format!("{self}{nobody}; hint: {hint}")
    }
}

impl Display for Lacking {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Lacking::Claim(claim) => write!(out, "resourceclaim \"{}\" not found", claim.name),
            Lacking::Template { template, .. } => write!(
                out,
                "waiting for a resourceclaim to be created from resourceclaimtemplate \"{template}\""
            ),
            Lacking::Gates => write!(out, "it has scheduling gates"),
            Lacking::Group(group) => {
                write!(out, "waiting for pod group {}, which does not exist", group.name)
            }
            Lacking::Workload { workload } => {
                write!(out, "waiting for workload {workload}, which does not exist")
            }
            Lacking::GroupOfWorkload { workload, group } => {
                write!(out, "waiting for pod group {group} of workload {workload}, which has no such group")
            }
            Lacking::Replica { workload, group, replica, replicas } => write!(
                out,
                "waiting for replica {replica} of pod group {group} of workload {workload}, which has {replicas}, counted from 0"
            ),
            Lacking::Composite { group, composite } => write!(
                out,
                "pod group {} waits for composite pod group {composite}, which does not exist",
                group.name
            ),
            Lacking::CompositeCycle { group, composite } => write!(
                out,
                "pod group {} is in composite pod group {composite}, which is within itself",
                group.name
            ),
            Lacking::Member { pod, lacks } => {
                write!(out, "waiting for pod {pod} of the same pod group: {lacks}")
            }
            Lacking::Members { group, at_least } => match group.name.replica() {
                Some(Replica { workload, group, number }) => write!(
                    out,
                    "waiting for replica {number} of pod group {group} of workload {workload} to have at least {at_least} pods"
                ),
                None => write!(out, "waiting for pod group {} to have at least {at_least} pods", group.name),
            },
            Lacking::Groups { composite } => write!(
                out,
                "waiting for enough pod groups of composite pod group {} to have enough pods",
                composite.name
            ),
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
            SetShortage::Split => write!(out, "those that it has already are in no one set"),
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
