//! Everything that keeps a pod off each node, by the same filters and the same search for devices as a decision.
//!
//! A decision is content with the first thing that is wrong with a node. Here each filter is asked by itself. Devices are looked for on
//! every node that no filter is against, as in a decision, and on others while there is work left.

use cluster::nodes::NodeIdx;
use model::identity::NodeName;
use model::pod::{Pod, Shape};

use crate::cycle::Cycle;
use crate::filters::{self, Around, FilterSettings, Mounts};
use crate::pod::nominees::Beside;
use crate::values::certainty::Certainty;
use crate::values::no_devices::NoDevices;
use crate::values::node_refusal::NodeRefusal;
use crate::values::pod_claims::PodClaims;
use crate::values::pod_refusal::{Nearest, PodRefusal};
use crate::values::reason::DeviceReason;
use crate::values::work;

/// What keeps a pod off a node.
#[derive(Clone, Debug)]
pub struct Obstacles {
    /// The node.
    pub node: NodeName,
    /// What filters say, in their order.
    pub rules: Vec<NodeRefusal>,
    /// What the search for devices says.
    pub devices: DeviceObstacle,
}

/// What the search for devices says of a node.
#[derive(Clone, Debug)]
pub enum DeviceObstacle {
    /// There are devices for all claims, or none are needed.
    None,
    /// It was not asked: a filter is against the node, and there was no work left.
    NotAsked,
    /// There are none.
    Lacking {
        /// Why.
        reason: DeviceReason,
        /// What came closest.
        nearest: Option<Nearest>,
        /// Whether that is certain.
        certainty: Certainty,
    },
}

impl Obstacles {
    /// How many things are wrong.
    #[must_use]
    pub fn count(&self) -> usize {
        let of_rules = self.rules.iter().map(|rule| rule.reasons().len()).sum::<usize>();
        of_rules + usize::from(matches!(self.devices, DeviceObstacle::Lacking { .. }))
    }
}

impl Cycle<'_> {
    /// Everything that keeps a pod off each node, or off some of them.
    ///
    /// # Errors
    /// The pod has no place for a reason that has nothing to do with nodes.
    pub(crate) fn obstacles(
        &mut self,
        pod: &Pod,
        within: Option<&[NodeName]>,
    ) -> Result<Vec<Obstacles>, Box<PodRefusal>> {
        let profile = self.settings.profile_of(pod);
        let claims = self.claims_of(pod, &profile)?;
        let settings = &profile.filters;
        let companions = self.companions_of(&pod.shape, &profile);
        let companions = companions.as_ref();
        let around = Around::new(&pod.shape, &self.facts.nodes, &self.facts.namespaces, settings, companions);
        let around = around.with_volumes(&self.facts.nodes, &self.facts.volumes, settings);
        let mounts = filters::anywhere(&pod.shape, settings)
            .and_then(|()| Mounts::new(&pod.shape, &self.facts.volumes, settings))
            .map_err(|refusal| {
                let nodes = self.facts.nodes.iter().count();
                PodRefusal::of_all_nodes(nodes, refusal.reason(), refusal.filter(), refusal.wakes_on())
            })?;
        let places: Vec<NodeIdx> = match within {
            None => self.facts.nodes.iter().map(|(at, _)| at).collect(),
            Some(names) => names.iter().filter_map(|name| self.facts.nodes.find(name)).collect(),
        };
        self.caches.work.spend(places.len() as u64 * work::NODE);
        let mut all = Vec::with_capacity(places.len());
        let mut with_nominees = (!self.plans.nominations.is_empty()).then(|| around.clone());
        for at in &places {
            let rules = self.rules_against(pod, *at, settings, (&around, &mounts), with_nominees.as_mut());
            let node = filters::node_of(self.facts.nodes.get(*at)).name.clone();
            all.push(Obstacles { node, rules, devices: DeviceObstacle::NotAsked });
        }
        // Nodes that no filter is against come first, so that others are asked only with what is left.
        let mut order: Vec<usize> = (0..all.len()).collect();
        order.sort_by_key(|at| all[*at].count());
        for number in order {
            if !all[number].rules.is_empty() && self.caches.work.is_spent() {
                break;
            }
            all[number].devices = self.device_obstacle(places[number], &claims);
        }
        Ok(all)
    }

    /// What filters have against a node.
    fn rules_against(
        &self,
        pod: &Pod,
        at: NodeIdx,
        settings: &FilterSettings,
        (around, mounts): (&Around, &Mounts),
        with_nominees: Option<&mut Around>,
    ) -> Vec<NodeRefusal> {
        let shape: &Shape = &pod.shape;
        let state = self.facts.nodes.get(at);
        let node = filters::node_of(state);
        let mut rules = filters::each(shape, state, node, settings);
        let disks = mounts.check_disks(state);
        let attached = if disks.is_ok() { mounts.check_use(state, &self.facts.volumes) } else { Ok(()) };
        let rest = [
            disks,
            around.check_volumes(),
            attached,
            mounts.check_reach(node, &self.facts.volumes),
            around.check_spread(node),
            around.check_near(node),
            if around.check_volumes().is_ok() { around.check_apart(node) } else { Ok(()) },
        ];
        rules.extend(rest.into_iter().filter_map(Result::err));
        if rules.is_empty() {
            let beside = with_nominees.map_or(Beside::Nothing, Beside::Counted);
            let asking = (&*pod.uid, pod.priority);
            rules.extend(
                self.check_beside_nominees(shape, asking, state, beside, (settings, Some(mounts))).err(),
            );
        }
        rules
    }

    fn device_obstacle(&mut self, at: NodeIdx, claims: &PodClaims) -> DeviceObstacle {
        let node = filters::node_of(self.facts.nodes.get(at)).clone();
        match self.devices_on(&node, claims) {
            Ok(_) => DeviceObstacle::None,
            Err(NoDevices { reason, nearest, certainty }) => {
                DeviceObstacle::Lacking { reason, nearest, certainty }
            }
        }
    }
}
