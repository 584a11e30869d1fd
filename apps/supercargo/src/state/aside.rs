//! Pods that are in a cluster and that its scheduler leaves alone.

use std::fmt;
use std::sync::Arc;

use decisions::settings::Settings;
use model::pod::{Pod, PodId};

use crate::failure::Failure;

/// A pod that is there, and why the scheduler has nothing to do with it.
#[derive(Clone, Debug)]
pub(crate) struct Aside {
    pod: PodId,
    why: Why,
}

#[derive(Clone, Debug)]
enum Why {
    /// It waits for another scheduler.
    Scheduler {
        asked: Arc<str>,
        profiles: Vec<Arc<str>>,
    },
    Finished,
    /// It is being deleted and has no node.
    Deleting,
}

impl Aside {
    /// Why the scheduler leaves a pod alone, if it does.
    pub(super) fn of(pod: &Pod, settings: &Settings) -> Option<Aside> {
        let why = if pod.finished {
            Why::Finished
        } else if pod.node.is_some() {
            return None;
        } else if pod.deleting {
            Why::Deleting
        } else if settings.profile(pod).is_none() {
            let profiles = settings.profiles.iter().map(|profile| profile.name.clone()).collect();
            Why::Scheduler { asked: pod.scheduler.clone(), profiles }
        } else {
            return None;
        };
        Some(Aside { pod: pod.id.clone(), why })
    }
}

impl fmt::Display for Aside {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Aside { pod, why } = self;
        match why {
            Why::Scheduler { asked, profiles } => {
                let profiles: Vec<&str> = profiles.iter().map(|profile| &**profile).collect();
                write!(
                    out,
                    "pod {pod} waits for scheduler {asked}, but the configuration is that of scheduler {}",
                    profiles.join(", ")
                )
            }
            Why::Finished => write!(out, "pod {pod} has finished, and uses no node and no devices"),
            Why::Deleting => write!(out, "pod {pod} is being deleted, and was not assigned to a node"),
        }
    }
}

impl From<Aside> for Failure {
    fn from(aside: Aside) -> Failure {
        let hint = match &aside.why {
            Why::Scheduler { asked, .. } => {
                format!("give the configuration of scheduler {asked} with --config")
            }
            Why::Finished | Why::Deleting => String::new(),
        };
        Failure::Failed { wrong: aside.to_string(), hint }
    }
}
