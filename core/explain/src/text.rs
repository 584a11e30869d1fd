//! Explanations as texts: first the verdict in one sentence, then what it rests on, as a tree.

use std::fmt;

use decisions::event_reasons::WAITING_FOR_RESOURCE_DRIVER;
use decisions::pod::Nearest;
use decisions::reason::Reason;
use model::pod::SCHEDULING_GATED;

use crate::audience::Shown;
use crate::conflict::Conflict;
use crate::effort::Extent;
use crate::nodes::{DeviceHolder, DeviceLack, HolderName, NearestNode, NodeGroup};
use crate::pod::PodExplanation;
use crate::remedies::Remedies;
use crate::waiting::{RefusedPod, WaitingPod};
use crate::words;

pub(crate) type Out<'a, 'b> = &'a mut fmt::Formatter<'b>;

impl fmt::Display for PodExplanation {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            PodExplanation::NotFound(pod) => {
                writeln!(out, "pod {pod} not found")
            }
            PodExplanation::Gated { pod, gates } => {
                let gates = words::list(gates);
                writeln!(
                    out,
                    "{SCHEDULING_GATED}\npod {pod} waits until its scheduling gates are removed: {gates}"
                )
            }
            PodExplanation::HeldBack { pod, lack } => {
                writeln!(out, "{}\npod {pod} waits: {}", lack.with_hint(), lack.code())
            }
            PodExplanation::Waiting(waiting) => waiting.fmt(out),
            PodExplanation::WaitingInGroup { pod, group } => {
                let text = group.to_string();
                let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
                let own = group.message_of_member(&pod.name);
                write!(out, "{}\npod {pod} waits with its group\n{rest}", own.as_deref().unwrap_or(first))
            }
            PodExplanation::Placed(placed) => placed.fmt(out),
        }
    }
}

impl fmt::Display for WaitingPod {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        match self {
            WaitingPod::Fits { pod, node } => {
                writeln!(out, "pod {pod} fits on node {node}; it is queued to be scheduled")
            }
            WaitingPod::AwaitsDrivers { pod, wait } => {
                writeln!(out, "{wait}\npod {pod} waits: {}", WAITING_FOR_RESOURCE_DRIVER.name)
            }
            WaitingPod::Undecided { pod } => {
                writeln!(
                    out,
                    "pod {pod} waits; the search limit was reached before a node was found or excluded"
                )
            }
            WaitingPod::Refused(refused) => refused.fmt(out),
        }
    }
}

impl RefusedPod {
    /// The first sentence: the message of the pod's condition.
    #[must_use]
    pub fn message(&self) -> String {
        self.refusal.with_preemption(self.preemption.as_ref())
    }

    /// The codes of what removes nodes, the most frequent first.
    #[must_use]
    pub fn codes(&self) -> Vec<&'static str> {
        self.refusal.codes()
    }
}

impl fmt::Display for RefusedPod {
    fn fmt(&self, out: Out<'_, '_>) -> fmt::Result {
        writeln!(out, "{}", self.message())?;
        match self.codes()[..] {
            [] => writeln!(out, "pod {} waits", self.pod)?,
            ref codes => writeln!(out, "pod {} waits: {}", self.pod, codes.join(", "))?,
        }
        if !self.victims.is_empty() {
            writeln!(out, "preempted for it: {}", words::pods(&self.victims))?;
        }
        if !self.groups.is_empty() {
            writeln!(out, "\nnodes:")?;
        }
        self.groups.iter().try_for_each(|group| write_group(out, group))?;
        if let Some(nearest) = &self.nearest {
            write_nearest(out, nearest)?;
        }
        write_conflict(out, &self.conflict, "the pod")?;
        write_remedies(out, &self.remedies, ("the pod", "the pod"))
    }
}

pub(crate) fn write_group(out: Out<'_, '_>, group: &NodeGroup) -> fmt::Result {
    let codes = words::list(group.reasons.iter().map(Reason::code));
    let names = words::some(&group.examples, group.count);
    writeln!(out, "  {} [{codes}]: {names}", words::number(group.count, "node"))?;
    let example = if group.count > 1 { group.examples.first() } else { None };
    let lead = example.map_or_else(String::new, |node| format!("{node}: "));
    group.rules.iter().try_for_each(|rule| writeln!(out, "    {lead}{}", words::rule(rule)))?;
    write_devices(out, &lead, &group.devices)
}

fn write_devices(out: Out<'_, '_>, lead: &str, devices: &DeviceLack) -> fmt::Result {
    let DeviceLack::Lacking { reason, nearest, holders, more_holders } = devices else { return Ok(()) };
    let miss = match nearest.as_deref() {
        Some(Nearest::Refused { refusal, .. }) => refusal.nearest.as_ref(),
        Some(other) => return writeln!(out, "    {lead}{other}"),
        None => None,
    };
    let Some(miss) = miss else { return writeln!(out, "    {lead}{reason}") };
    let wanted = words::number(miss.wanted, "device");
    writeln!(
        out,
        "    {lead}{}, request {}: wants {wanted} of class {}, can have {}",
        miss.claim, miss.request, miss.class, miss.found
    )?;
    let mut before = None;
    for count in &miss.stages {
        if before != Some(count.left) {
            writeln!(out, "      {} {}", count.left, count.stage)?;
        }
        before = Some(count.left);
    }
    write_holders(out, holders)?;
    if *more_holders > 0 {
        writeln!(out, "      {} more held", words::number(*more_holders, "device"))?;
    }
    Ok(())
}

/// The holders of devices, each with all that it holds.
fn write_holders(out: Out<'_, '_>, holders: &[DeviceHolder]) -> fmt::Result {
    let mut hidden = 0;
    let mut told: Vec<&HolderName> = Vec::new();
    for one in holders {
        let by = match &one.holder {
            HolderName::Claim(Shown::Hidden, _) | HolderName::Pod(Shown::Hidden) => {
                hidden += 1;
                continue;
            }
            known if told.contains(&known) => continue,
            HolderName::Claim(claim, users) if users.is_empty() => {
                format!("held by {}, which no pod uses", words::claim(claim))
            }
            HolderName::Claim(claim, users) => {
                format!("held by {} of {}", words::claim(claim), words::pods(users))
            }
            HolderName::Pod(pod) => format!("held for {}", words::pod(pod)),
            HolderName::Failed => "excluded: binding with it failed for this pod before".to_owned(),
        };
        told.push(&one.holder);
        let same = holders.iter().filter(|other| other.holder == one.holder);
        writeln!(out, "      {}: {by}", words::list(same.map(|one| &one.device)))?;
    }
    match hidden {
        0 => Ok(()),
        count => writeln!(out, "      {} held by claims in other namespaces", words::number(count, "device")),
    }
}

fn write_nearest(out: Out<'_, '_>, nearest: &NearestNode) -> fmt::Result {
    let rules = nearest.rules.iter().map(words::rule);
    let devices = match &nearest.devices {
        DeviceLack::None | DeviceLack::NotAsked => None,
        DeviceLack::Lacking { reason, nearest, .. } => Some(match nearest.as_deref() {
            Some(Nearest::Refused { refusal, .. }) if refusal.nearest.is_some() => {
                let miss = refusal.nearest.as_ref().expect("it was evaluated in this attempt");
                let wanted = words::number(miss.wanted, "device");
                format!("{} of {wanted} for request {} of {}", miss.found, miss.request, miss.claim)
            }
            _ => reason.to_string(),
        }),
    };
    let all = words::list(rules.chain(devices));
    writeln!(out, "\nnearest is node {}: {all}", nearest.node)?;
    if !nearest.pods.is_empty() {
        writeln!(out, "  in use there by {}", words::pods(&nearest.pods))?;
    }
    Ok(())
}

pub(crate) fn write_conflict(out: Out<'_, '_>, conflict: &Conflict, subject: &str) -> fmt::Result {
    match (conflict.extent, conflict.constraints.len()) {
        (Extent::Bounded, 0) => return Ok(()),
        (Extent::Whole, 0) => {
            return writeln!(out, "\n{subject} would fit on no node without any constraint");
        }
        (Extent::Whole, _) => writeln!(out, "\nsmallest set of constraints that conflict:")?,
        (Extent::Bounded, _) => {
            writeln!(
                out,
                "\nconstraints that conflict; the search limit was reached, so a smaller set may exist:"
            )?;
        }
    }
    let all = &conflict.constraints;
    all.iter().try_for_each(|one| writeln!(out, "  - {} [{}]", words::constraint(one), one.code()))
}

pub(crate) fn write_remedies(
    out: Out<'_, '_>,
    remedies: &Remedies,
    (subject, pods): (&str, &str),
) -> fmt::Result {
    if !remedies.remedies.is_empty() {
        writeln!(out, "\neach of these changes alone would help, as trials have shown:")?;
    }
    for remedy in &remedies.remedies {
        let edits: Vec<String> = remedy.edits.iter().map(|edit| words::edit(edit, pods)).collect();
        writeln!(out, "  - {}: {}", edits.join(", and "), words::leads_to(&remedy.leads_to, subject))?;
    }
    match remedies.extent {
        Extent::Bounded if !remedies.remedies.is_empty() => {
            writeln!(out, "  the search limit was reached: other changes may help too")
        }
        _ => Ok(()),
    }
}
