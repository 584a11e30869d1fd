//! What we are about to do, as far as it counts in a decision: room that is being made, devices that failed, what drivers are asked.

pub(crate) mod gang;
pub(crate) mod nominations;
pub(crate) mod rounds;
pub(crate) mod selections;

use std::collections::{BTreeMap, BTreeSet};

use cluster::claims::Held;
use cluster::groups::Root;
use cluster::ledger::{Holder, Holding, PodRef};
use model::device::DeviceId;
use model::identity::PodUid;
use model::pod::Pod;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::plans::gang::GangPlan;
use crate::plans::nominations::Nominations;
pub use crate::plans::rounds::Awaited;
use crate::plans::rounds::Rounds;
use crate::plans::selections::Selections;

/// What we are about to do.
#[derive(Clone, Debug, Default)]
pub struct Plans {
    /// Pods for which room is being made.
    pub nominations: Nominations,
    /// Pods whose eviction was asked for and that are not seen to go yet, by uid.
    pub leaving: FxHashSet<PodUid>,
    /// Grows when the users of a claim change, though its devices stay the same.
    pub users_changed: u64,
    /// Devices that could not be made ready for a pod, by its uid.
    pub shunned: FxHashMap<PodUid, BTreeSet<DeviceId>>,
    /// What is being made free for gangs.
    pub gangs: BTreeMap<Root, GangPlan>,
    /// Which nodes are chosen for pods that are negotiated about.
    pub selections: Selections,
    /// What came of negotiations about pods and gangs.
    pub rounds: Rounds,
}

impl Plans {
    /// Whether a pod was asked to go, or is seen to.
    #[must_use]
    pub fn is_leaving(&self, pod: &Pod) -> bool {
        pod.deleting || self.leaving.contains(&pod.uid)
    }

    /// Whether devices failed for a pod before, so that answers for pods like it are not for it.
    #[must_use]
    pub fn has_shunned(&self, pod: &str) -> bool {
        self.shunned.contains_key(pod)
    }

    /// The devices that failed for pods before, each once, held so that no claim gets them.
    pub(crate) fn shunned_by<'p>(&self, pods: impl IntoIterator<Item = &'p Pod>) -> Vec<Held> {
        let mut held: Vec<Held> = Vec::new();
        if self.shunned.is_empty() {
            return held;
        }
        for pod in pods {
            let holder = Holder::FailedFor(PodRef::from(pod));
            for device in self.shunned.get(&pod.uid).into_iter().flatten() {
                if held.iter().any(|known| known.device == *device) {
                    continue;
                }
                let (groups, consumed) = Default::default();
                let holding = Holding { holder: holder.clone(), groups, consumed };
                held.push(Held { device: device.clone(), share: None, holding, tolerations: Vec::new() });
            }
        }
        held
    }
}
