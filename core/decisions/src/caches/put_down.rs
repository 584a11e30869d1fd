//! Searches for devices that were put down so that others have their turn.
//!
//! Why a node has no devices is kept until something changes for that node. Of a search that has not ended, a question is put again before its search goes on, and the search goes on only if it is the same question to the last device.
//! What is kept can be dropped at any time.
//!
//! Bounds: beyond [`PODS_MAX`] pods the one that was put down the longest ago is searched for anew, and so are questions of a pod
//! beyond [`QUESTIONS_MAX`].

use allocation::Inquiry;
use cluster::nodes::NodeIdx;
use cluster::touches::Touches;
use model::identity::{NodeName, PodUid};
use rustc_hash::FxHashMap;

use crate::values::no_devices::NoDevices;

const PODS_MAX: usize = 32;
const QUESTIONS_MAX: usize = 1_024;

/// Work that is worth keeping.
pub(crate) const WORK_MIN: u64 = 100_000;

/// Searches that were put down, by pod; the youngest last.
#[derive(Debug, Default)]
pub struct PutDown {
    pods: Vec<(PodUid, Inquiries)>,
}

/// What was asked for a pod.
#[derive(Debug, Default)]
pub struct Inquiries {
    begun: Vec<(NodeName, Inquiry)>,
    /// Nodes that have no devices, unless something changed for them since the moment beside.
    refused: FxHashMap<NodeIdx, NoDevices>,
    seen: u64,
    /// Several questions about each node are asked for the pod, so that why it has no devices is not kept.
    asks_twice: bool,
}

impl PutDown {
    /// What was asked for a pod before it was put down.
    pub fn take_up(&mut self, pod: &PodUid) -> Inquiries {
        let at = self.pods.iter().position(|(uid, _)| uid == pod);
        at.map_or_else(Inquiries::default, |at| self.pods.remove(at).1)
    }

    /// Keeps what was asked for a pod.
    pub fn put_down(&mut self, pod: &PodUid, inquiries: Inquiries) {
        if self.pods.len() == PODS_MAX {
            self.pods.remove(0);
        }
        self.pods.push((pod.clone(), inquiries));
    }
}

impl Inquiries {
    /// Forgets why nodes have no devices for which something changed, or all of it if several questions about each are asked.
    pub(crate) fn heed(&mut self, touches: &Touches, asks_twice: bool) {
        self.asks_twice = asks_twice;
        match touches.since(self.seen) {
            Some(touched) if !asks_twice => touched.iter().for_each(|at| drop(self.refused.remove(at))),
            _ => self.refused.clear(),
        }
        self.seen = touches.now();
    }

    /// Why a node has no devices, if that is known.
    pub(crate) fn refused(&self, at: NodeIdx) -> Option<NoDevices> {
        self.refused.get(&at).cloned()
    }

    /// Whether it is known why a node has no devices.
    pub(crate) fn has_refused(&self, at: NodeIdx) -> bool {
        self.refused.contains_key(&at)
    }

    /// Notes why a node has no devices.
    pub(crate) fn refuse(&mut self, at: NodeIdx, why: &NoDevices) {
        if !self.asks_twice {
            self.refused.insert(at, why.clone());
        }
    }

    /// The search that was begun for the same question, or this one.
    pub(crate) fn resume(&mut self, node: &NodeName, anew: Inquiry) -> Inquiry {
        let same = |(name, known): &(NodeName, Inquiry)| name == node && known.asks_the_same(&anew);
        match self.begun.iter().position(same) {
            Some(at) => self.begun.swap_remove(at).1,
            None => anew,
        }
    }

    /// Whether a search for devices on a node was begun.
    pub(crate) fn has_begun(&self, node: &NodeName) -> bool {
        self.begun.iter().any(|(name, _)| name == node)
    }

    /// Keeps a search, if that spares work.
    pub(crate) fn keep(&mut self, node: &NodeName, inquiry: Inquiry) {
        if inquiry.spent().1 >= WORK_MIN && self.begun.len() < QUESTIONS_MAX {
            self.begun.push((node.clone(), inquiry));
        }
    }
}
