//! What of a cluster could not be read. What is decided from the rest may be wrong; what the scheduler wrote to a pod is not.

use std::collections::BTreeMap;

use model::pod::PodId;
use serde_json::Value;

/// What of a cluster could not be read, and what its scheduler wrote to pods.
#[derive(Debug, Default)]
pub(crate) struct Unread {
    /// The kinds of which not all objects may be listed, by the names that addresses have for them.
    kinds: Vec<&'static str>,
    /// Why nodes may not be listed, if they may not.
    nodes: Option<String>,
    /// The messages of conditions of pods that wait.
    messages: BTreeMap<PodId, String>,
}

impl Unread {
    /// Notes that not all objects of a kind may be listed, with the reason.
    pub(super) fn add(&mut self, plural: &'static str, why: &str) {
        self.kinds.push(plural);
        if plural == "nodes" {
            self.nodes = Some(why.to_owned());
        }
    }

    /// Notes what the scheduler wrote to a pod, if it waits.
    pub(super) fn note_condition(&mut self, pod: &Value) {
        let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
        let refused = conditions.find(|one| one["type"] == "PodScheduled" && one["status"] == "False");
        let message = refused.and_then(|condition| condition["message"].as_str());
        if let Some(message) = message.filter(|message| !message.is_empty()) {
            let text = |field: &str| pod["metadata"][field].as_str().unwrap_or_default().into();
            self.messages
                .insert(PodId { namespace: text("namespace"), name: text("name") }, message.to_owned());
        }
    }

    /// The kinds of which not all objects were read.
    pub(crate) fn kinds(&self) -> &[&'static str] {
        &self.kinds
    }

    /// Why nodes were not read, if they were not. Nothing can be decided without nodes.
    pub(crate) fn nodes(&self) -> Option<&str> {
        self.nodes.as_deref()
    }

    /// What the scheduler wrote to a pod that waits.
    pub(crate) fn message(&self, pod: &PodId) -> Option<&str> {
        self.messages.get(pod).map(String::as_str)
    }
}
