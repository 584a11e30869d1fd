//! Explanations of groups, of claims and of pods that are placed, as texts.

use std::fmt;
use std::sync::Arc;

use decisions::event_reasons::{BINDING_CONDITIONS_PENDING, WAITING_FOR_RESOURCE_DRIVER};
use decisions::notice::Notice;
use model::identity::NodeName;
use placement::DomainName;

use crate::claim::{ClaimExplanation, ClaimStanding, FoundClaim};
use crate::constraint::Constraint;
use crate::edit::Edit;
use crate::group::{GroupExplanation, RefusedGroup};
use crate::nodes::NAMES_MAX;
use crate::placed::{NowPlaced, PlacedPod};
use crate::subject::Explanation;
use crate::text::{Out, write_conflict, write_group, write_remedies};
use crate::words;

/// How many lines a list has at the most.
const LINES_MAX: usize = 8;

impl fmt::Display for Constraint {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(&words::constraint(self))
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        out.write_str(&words::edit(self, "each pod"))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            Explanation::Pod(pod) => pod.fmt(out),
            Explanation::Claim(claim) => claim.fmt(out),
            Explanation::Group(group) => group.fmt(out),
            Explanation::Workload(id, groups) if groups.is_empty() => {
                writeln!(out, "workload {}/{} not found", id.namespace, id.name)
            }
            Explanation::Workload(_, groups) => groups.iter().enumerate().try_for_each(|(at, group)| {
                if at > 0 {
                    writeln!(out)?;
                }
                group.fmt(out)
            }),
        }
    }
}

impl fmt::Display for GroupExplanation {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            GroupExplanation::NotFound(group) => writeln!(out, "group {group} not found"),
            GroupExplanation::NoneWait { group, placed } => {
                writeln!(out, "no pod of group {group} waits; {} on nodes", is_or_are(*placed))
            }
            GroupExplanation::HeldBack { group, waiting, lack } => {
                let pods = words::number(*waiting, "pod");
                writeln!(out, "{}\ngroup {group} waits with {pods}: {}", lack.with_hint(), lack.code())
            }
            GroupExplanation::AwaitsDrivers { group, places } => {
                let waits = places.iter().find_map(|(_, _, wait)| wait.as_ref());
                waits.iter().try_for_each(|wait| writeln!(out, "{wait}"))?;
                let pods = words::number(places.len(), "pod");
                writeln!(out, "group {group} waits with {pods}: {}\n", WAITING_FOR_RESOURCE_DRIVER.name)?;
                writeln!(out, "nodes that fit, once drivers allocate the devices:")?;
                places.iter().try_for_each(|(pod, node, wait)| match wait {
                    None => writeln!(out, "  {pod} on node {node}"),
                    Some(wait) => {
                        writeln!(out, "  {pod} on node {node}: waits for {}", words::list(wait.drivers()))
                    }
                })
            }
            GroupExplanation::Fits { group, places } => {
                writeln!(out, "group {group} fits; it is queued to be scheduled")?;
                places.iter().try_for_each(|(pod, node)| writeln!(out, "  {pod} on node {node}"))
            }
            GroupExplanation::Refused(refused) => refused.fmt(out),
            GroupExplanation::Undecided(group) => writeln!(
                out,
                "group {group} waits; the search limit was reached before a node was found or excluded"
            ),
        }
    }
}

fn is_or_are(count: usize) -> String {
    if count == 1 { "1 pod is".to_owned() } else { format!("{count} pods are") }
}

impl GroupExplanation {
    /// The message of the condition of a pod of it, if that is not the first line of what is said of the group.
    pub(crate) fn message_of_member(&self, pod: &str) -> Option<String> {
        let GroupExplanation::AwaitsDrivers { places, .. } = self else { return None };
        let own = places.iter().find(|(name, ..)| **name == *pod)?;
        let (first, wait) = places.iter().find_map(|(name, _, wait)| Some((name, wait.clone()?)))?;
        Some(match &own.2 {
            Some(wait) => wait.to_string(),
            None => Notice::MemberWaits { member: first.clone(), wait }.to_string(),
        })
    }
}

impl RefusedGroup {
    /// The first sentence: the message of the group's condition.
    #[must_use]
    pub fn message(&self) -> String {
        self.refusal.to_string()
    }
}

impl fmt::Display for RefusedGroup {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        writeln!(out, "{}", self.message())?;
        writeln!(
            out,
            "group {} waits with {}: {}",
            self.group,
            words::number(self.waiting, "pod"),
            self.refusal.miss.why.code()
        )?;
        if !self.domains.is_empty() {
            let alike = if self.domain_count > self.domains.len() { ", one of each kind" } else { "" };
            writeln!(out, "\n{}{alike}:", words::number(self.domain_count, "domain"))?;
        }
        for room in &self.domains {
            let domain = match &room.domain {
                DomainName::Cluster => "the cluster",
                DomainName::Part(name) => name,
            };
            writeln!(out, "  {domain} fits {} of {} pods", room.room_for, room.wanted)?;
        }
        write_attempt(out, &self.seated)?;
        if let Some(next) = self.next.as_ref().filter(|_| !self.groups.is_empty()) {
            let then = if self.seated.is_empty() { "" } else { " in addition to these" };
            writeln!(out, "\nnodes for pod {next}{then}:")?;
            self.groups.iter().try_for_each(|group| write_group(out, group))?;
        }
        write_conflict(out, &self.conflict, "the group")?;
        write_remedies(out, &self.remedies, ("the group", "each pod"))
    }
}

/// The best attempt, node by node.
fn write_attempt(out: Out<'_, '_>, seated: &[(Arc<str>, NodeName)]) -> fmt::Result {
    if seated.is_empty() {
        return Ok(());
    }
    let mut by_node: Vec<(&NodeName, Vec<&Arc<str>>)> = Vec::new();
    for (pod, node) in seated {
        match by_node.iter_mut().find(|(known, _)| *known == node) {
            Some((_, pods)) => pods.push(pod),
            None => by_node.push((node, vec![pod])),
        }
    }
    writeln!(
        out,
        "\nbest attempt, {} on {}:",
        words::number(seated.len(), "pod"),
        words::number(by_node.len(), "node")
    )?;
    for (node, pods) in by_node.iter().take(LINES_MAX) {
        writeln!(out, "  node {node}: {}", words::some(&pods[..pods.len().min(NAMES_MAX)], pods.len()))?;
    }
    match by_node.len().saturating_sub(LINES_MAX) {
        0 => Ok(()),
        more => writeln!(out, "  and {}", words::number(more, "more node")),
    }
}

impl fmt::Display for ClaimExplanation {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            ClaimExplanation::NotFound(claim) => writeln!(out, "claim {claim} not found"),
            ClaimExplanation::Found(found) => found.fmt(out),
        }
    }
}

impl fmt::Display for FoundClaim {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        write!(out, "claim {} ", self.claim)?;
        match &self.standing {
            ClaimStanding::AwaitsPod if self.waiting.is_empty() => {
                writeln!(out, "has no devices: no pod uses the claim")?;
            }
            ClaimStanding::AwaitsPod => {
                writeln!(
                    out,
                    "has no devices: they are allocated when a pod that uses the claim fits on a node"
                )?;
            }
            ClaimStanding::AwaitsClasses(classes) => {
                writeln!(out, "has no devices: DeviceClass {} does not exist", words::list(classes))?;
            }
            ClaimStanding::AwaitsDrivers(controllers) => {
                writeln!(
                    out,
                    "has no devices: waiting for controller {} to allocate them",
                    words::list(controllers)
                )?;
            }
            ClaimStanding::BeingAllocated => {
                writeln!(out, "is being allocated: the write is not confirmed yet")?
            }
            ClaimStanding::BeingDeallocated => writeln!(out, "is being deallocated")?,
            ClaimStanding::Preparing { awaited, until } => writeln!(
                out,
                "waits until {until} for device {}, which lacks conditions {}",
                awaited.device.device,
                words::list(&awaited.device.missing)
            )?,
            ClaimStanding::Broken(broken) => {
                writeln!(out, "has devices that will not become ready: {}", words::list(broken))?;
            }
            ClaimStanding::Allocated => writeln!(out, "is allocated")?,
        }
        if let Some(since) = self.since {
            writeln!(out, "  allocated since {since}")?;
        }
        if self.deleting {
            writeln!(out, "  it is being deleted")?;
        }
        self.devices.iter().try_for_each(|device| writeln!(out, "  device {device}"))?;
        if !self.users.is_empty() {
            writeln!(out, "  used by {}", words::pods(&self.users))?;
        }
        if self.other_users > 0 {
            writeln!(out, "  reserved for {} on no node", words::number(self.other_users, "consumer"))?;
        }
        if self.users.is_empty() && self.other_users == 0 && !self.devices.is_empty() {
            writeln!(out, "  no pod uses it")?;
        }
        if !self.waiting.is_empty() {
            writeln!(out, "  used by {}, not scheduled yet", words::pods(&self.waiting))?;
        }
        Ok(())
    }
}

impl fmt::Display for PlacedPod {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        if let Some(pending) = &self.pending {
            writeln!(out, "{pending}\npod {} waits: {}", self.pod, BINDING_CONDITIONS_PENDING.name)?;
        }
        let state = if self.on_its_way { "is being bound to" } else { "is on" };
        write!(out, "pod {} {state} node {}", self.pod, self.node)?;
        match &self.now {
            NowPlaced::Here => writeln!(out, "; a new attempt would choose the same node")?,
            NowPlaced::There(node) => writeln!(out, "; a new attempt would choose node {node}")?,
            NowPlaced::Nowhere => writeln!(out, "; a new attempt would find no node")?,
            NowPlaced::Unknown => writeln!(out)?,
        }
        let Some(scores) = &self.scores else { return Ok(()) };
        writeln!(
            out,
            "\nscores of a new attempt, by plugin, before weights ({}):",
            words::number(self.candidates, "candidate")
        )?;
        let parts = scores.scores.iter().map(|(kind, score)| format!("{} {score}", kind.name()));
        writeln!(out, "  {}: {} ({})", scores.node, scores.total, words::list(parts))?;
        for other in &self.others {
            let parts = other.scores.iter().map(|(kind, score)| format!("{} {score}", kind.name()));
            write!(out, "  {}: {} ({})", other.node, other.total, words::list(parts))?;
            match self.ahead_of(other) {
                Some((0, _)) => writeln!(out, ", as good")?,
                Some((ahead, _)) if ahead > 0 => writeln!(out, ", {ahead} less")?,
                Some((ahead, _)) => writeln!(out, ", {} more", -ahead)?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}
