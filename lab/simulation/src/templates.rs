//! Claims from templates in a simulation: made for groups first and then for pods, as a cluster's controller would.

use std::collections::BTreeMap;

use controllers::claim_templates::{self, Around, ClaimTemplateAction};
use controllers::claimants::Claimant;
use objects::Object;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use objects::scheduling::pod_group::PodGroup;
use serde_json::json;

use crate::shelf::Key;
use crate::simulation::{PodObject, Simulation};

/// What claims are made from, and what was made.
struct Sources {
    templates: BTreeMap<Key, ResourceClaimTemplate>,
    groups: BTreeMap<Key, PodGroup>,
    /// Claims by the uids of their owners.
    owned: BTreeMap<String, Vec<ResourceClaim>>,
}

impl Simulation {
    /// Makes the claims that all groups and pods want made from templates.
    pub(crate) fn make_claims(&mut self) {
        let in_order = self.shelf.in_order();
        let (groups, pods) = (in_order.iter().filter(|key| key.is::<PodGroup>()), in_order.iter());
        let all: Vec<Key> = groups.chain(pods.filter(|key| key.is::<PodObject>())).cloned().collect();
        self.make_claims_of(&all);
    }

    /// Makes the claims that these want made from templates: groups, and then pods.
    pub(crate) fn make_claims_of(&mut self, claimants: &[Key]) {
        let mut sources =
            Sources { templates: self.read_all(), groups: self.read_all(), owned: BTreeMap::new() };
        for claim in self.read_all::<ResourceClaim>().into_values() {
            sources.keep(&claim);
        }
        for key in claimants {
            if let Some(group) = sources.groups.get(key).cloned() {
                let actions =
                    sources.around(self, key, |around| claim_templates::actions_for_group(&group, around));
                self.take_actions(key, &group, actions, &mut sources);
                // What the group says of its claims now is what its pods are told.
                sources
                    .groups
                    .extend(self.shelf.read(&key.namespace, &key.name).map(|group| (key.clone(), group)));
            } else if let Some(pod) = self.shelf.read::<PodObject>(&key.namespace, &key.name) {
                let actions =
                    sources.around(self, key, |around| claim_templates::actions_for_pod(&pod, around));
                self.take_actions(key, &pod, actions, &mut sources);
                self.make_volume_claims(&pod);
            }
        }
    }

    fn read_all<K: Object>(&self) -> BTreeMap<Key, K> {
        self.shelf.read_all().map(|(key, object)| (key.clone(), object)).collect()
    }

    /// Makes and notes the claims of one claimant.
    fn take_actions<T: Claimant>(
        &mut self,
        key: &Key,
        claimant: &T,
        actions: Vec<ClaimTemplateAction>,
        sources: &mut Sources,
    ) {
        let mut made = Vec::new();
        for action in actions {
            let (entry, trouble) = match action {
                ClaimTemplateAction::Note { entry, claim } => {
                    made.push((entry, claim));
                    continue;
                }
                ClaimTemplateAction::Wait { entry, why } => (entry, why.to_string()),
                ClaimTemplateAction::Make { entry, claim, .. } => {
                    match self.shelf.create(json!(claim), Vec::new()) {
                        Ok(claim) => {
                            sources.owned_by(self, &claim);
                            made.push((entry, claim.name));
                            continue;
                        }
                        Err(what) => (entry, what),
                    }
                }
            };
            self.troubles.insert(key.clone(), format!("{} {entry}: {trouble}", T::ENTRY));
        }
        if made.is_empty() {
            return;
        }
        let mut noted = claimant.write_value();
        noted["status"]["resourceClaimStatuses"] = claim_templates::statuses(claimant, &made);
        if let Err(what) = self.shelf.replace(key, noted, Some("status")) {
            self.troubles.insert(key.clone(), what);
        }
    }
}

impl Sources {
    fn keep(&mut self, claim: &ResourceClaim) {
        for owner in &claim.metadata.owner_references {
            self.owned.entry(owner.uid.clone()).or_default().push(claim.clone());
        }
    }

    fn owned_by(&mut self, simulation: &Simulation, claim: &Key) {
        if let Some(claim) = simulation.shelf.read(&claim.namespace, &claim.name) {
            self.keep(&claim);
        }
    }

    /// Asks about a claimant and what is known of its namespace.
    fn around<T>(&self, simulation: &Simulation, key: &Key, ask: impl FnOnce(&Around<'_>) -> T) -> T {
        let home = &key.namespace;
        ask(&Around {
            template: &|name| self.templates.get(&Key::of::<ResourceClaimTemplate>(home, name)),
            owned: &|uid| self.owned.get(uid).into_iter().flatten().collect(),
            group: &|name| self.groups.get(&Key::of::<PodGroup>(home, name)),
            gates: simulation.shelf.gates(),
        })
    }
}
