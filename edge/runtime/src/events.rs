//! Announcements of the engine as events of the API.

use client::Report;
use decisions::event_reasons::{
    BINDING_CONDITIONS_PENDING, FAILED_SCHEDULING, GANG_RELEASED, POD_GROUP_IGNORED, PREEMPTED, SCHEDULED,
    WAITING_FOR_RESOURCE_DRIVER,
};
use model::group::{GroupId, GroupName, Grouping};
use model::pod::Pod;
use model::workload::Replica;
use objects::Object;
use objects::core::event::ObjectReference;
use objects::scheduling::composite_pod_group::CompositePodGroup;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::workload::Workload;
use scheduler::engine::Announcement;
use scheduler::news::{GangNews, GangOutcome};

/// What an event says of an announcement, if there is one for it.
pub(crate) fn report(announcement: &Announcement) -> Option<Report> {
    Some(match announcement {
        Announcement::Scheduled { pod, node, .. } => Report {
            controller: pod.scheduler.to_string(),
            regarding: reference(pod),
            related: None,
            reason: SCHEDULED.name,
            action: "Binding",
            is_warning: false,
            // What goes well happens once.
            is_once: true,
            note: format!("Successfully assigned {}/{} to {node}", pod.id.namespace, pod.id.name),
        },
        // Why a pod waits was told, and is the same but for its figures.
        Announcement::FailedScheduling { is_news: false, .. } => return None,
        Announcement::FailedScheduling { pod, message, .. } => Report {
            controller: pod.scheduler.to_string(),
            regarding: reference(pod),
            related: None,
            reason: FAILED_SCHEDULING.name,
            action: "Scheduling",
            is_warning: true,
            is_once: false,
            note: message.clone(),
        },
        Announcement::Preempted { pod, by, group, node } => Report {
            // Who displaces a pod reports it, not who placed it.
            controller: by.scheduler.to_string(),
            regarding: reference(pod),
            related: Some(group.as_ref().map_or_else(|| reference(by), grouping_reference)),
            reason: PREEMPTED.name,
            action: "Preempting",
            is_warning: false,
            is_once: false,
            note: match group {
                Some(group) => format!("Preempted by podgroup {} on node {node}", group.uid()),
                None => format!("Preempted by pod {} on node {node}", by.uid),
            },
        },
        Announcement::DevicesPending { pod, message, .. } => Report {
            controller: pod.scheduler.to_string(),
            regarding: reference(pod),
            related: None,
            reason: BINDING_CONDITIONS_PENDING.name,
            action: "Scheduling",
            is_warning: false,
            is_once: true,
            note: message.clone(),
        },
        Announcement::Released { pod, message } => Report {
            controller: pod.scheduler.to_string(),
            regarding: reference(pod),
            related: None,
            reason: GANG_RELEASED.name,
            action: "Binding",
            is_warning: true,
            is_once: true,
            note: message.clone(),
        },
        Announcement::GroupIgnored { pod, message } => Report {
            controller: pod.scheduler.to_string(),
            regarding: reference(pod),
            related: None,
            reason: POD_GROUP_IGNORED.name,
            action: "Scheduling",
            is_warning: true,
            is_once: true,
            note: message.clone(),
        },
        Announcement::Gang(news) => return of_gang(news),
        Announcement::Negotiating { pod, wait } => Report {
            controller: pod.scheduler.to_string(),
            regarding: reference(pod),
            related: None,
            reason: WAITING_FOR_RESOURCE_DRIVER.name,
            action: "Scheduling",
            is_warning: false,
            is_once: true,
            note: wait.to_string(),
        },
        // Success is followed by a binding, and everything else by the reason why there is none.
        Announcement::DevicesDone { .. } => return None,
    })
}

/// What an event of a group says.
fn of_gang(news: &GangNews) -> Option<Report> {
    let (reason, note) = match &news.outcome {
        GangOutcome::Refused { .. } | GangOutcome::MakingRoom { .. } if !news.is_news => return None,
        GangOutcome::Refused { message } | GangOutcome::MakingRoom { message } => {
            (FAILED_SCHEDULING.name, message.clone())
        }
        GangOutcome::Placed { members } => (SCHEDULED.name, format!("{members} pods have their nodes")),
        // It is not certain yet that they will be bound.
        GangOutcome::Seated { .. } => return None,
    };
    let is_refused = !matches!(news.outcome, GangOutcome::Placed { .. });
    // A workload has many groups, and what is said is said of one.
    let note = match news.group.name.replica() {
        Some(Replica { group, number, .. }) => format!("pod group {group}, replica {number}: {note}"),
        None => note,
    };
    Some(Report {
        controller: news.scheduler.to_string(),
        regarding: group_reference(&news.group, &news.uid),
        related: None,
        reason,
        action: "Scheduling",
        is_warning: is_refused,
        is_once: !is_refused,
        note,
    })
}

/// The object that a group is, or is a part of.
fn group_reference(group: &GroupId, uid: &str) -> ObjectReference {
    let (api_version, kind, name) = match &group.name {
        GroupName::Replica(replica) => (Workload::API_VERSION, Workload::KIND, &replica.workload),
        GroupName::Object(name) => (PodGroup::API_VERSION, PodGroup::KIND, name),
    };
    ObjectReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        namespace: group.namespace.to_string(),
        name: name.to_string(),
        uid: uid.to_owned(),
        ..ObjectReference::default()
    }
}

/// A group for which others go, of pods or of groups.
fn grouping_reference(grouping: &Grouping) -> ObjectReference {
    let reference = group_reference(grouping.id(), grouping.uid());
    match grouping {
        Grouping::Pods(_) => reference,
        Grouping::Groups(_) => ObjectReference {
            api_version: CompositePodGroup::API_VERSION.to_owned(),
            kind: CompositePodGroup::KIND.to_owned(),
            ..reference
        },
    }
}

fn reference(pod: &Pod) -> ObjectReference {
    ObjectReference {
        api_version: objects::core::pod::Pod::API_VERSION.to_owned(),
        kind: objects::core::pod::Pod::KIND.to_owned(),
        namespace: pod.id.namespace.to_string(),
        name: pod.id.name.to_string(),
        uid: pod.uid.to_string(),
        ..ObjectReference::default()
    }
}
