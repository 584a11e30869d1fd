//! Nodes: those that are silent are said to be unknown, and all get the taints that their state wants.
//!
//! When a node was last heard is noted by our own clock and nowhere written down. Who begins anew has heard nobody, and
//! gives everybody their full time.

mod life;
mod taint;

use std::collections::BTreeMap;

use controllers::node_life::{self, Grace, Pulse, is_ready};
use controllers::nodes::Census;
use model::timestamp::Timestamp;
use objects::Object;
use objects::coordination::Lease;
use objects::core::node::Node;
use objects::core::pod::Pod;

use crate::controller::{Controller, Look, Reception, Subject, Tools};
use crate::kinds::{Kind, KindId, Mark, kind};
use crate::world::{Change, Name, World};

/// The name of the controller.
const NAME: &str = "node-lifecycle-controller";

/// Where the leases of nodes are.
const LEASES: &str = "kube-node-lease";

/// Looks after nodes.
#[derive(Default)]
pub(crate) struct Nodes {
    pulses: BTreeMap<String, Pulse>,
    /// When any node was last heard.
    any_heard: Timestamp,
    /// Since when we listen without a break.
    listening: Timestamp,
}

impl Controller for Nodes {
    fn name(&self) -> &'static str {
        NAME
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Node>(), kind::<Lease>(), kind::<Pod>()]
    }

    fn tune(&mut self, _: KindId, _: Reception, now: Timestamp) {
        self.listening = now;
    }

    fn note(&mut self, change: &Change, world: &World, now: Timestamp) {
        if let Some(node) = change.of::<Node>() {
            match node.after {
                Some(after) => self.listen(after, world, now),
                None => drop(self.pulses.remove(&node.object().metadata.name)),
            }
        }
        let lease = change.of::<Lease>().filter(|lease| lease.object().metadata.namespace == LEASES);
        let named = lease.map(|lease| node_name(&lease.object().metadata.name));
        if let Some(node) = named.and_then(|name| world.get::<Node>(&name)) {
            self.listen(node, world, now);
        }
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            return pod.after.map(Subject::of).into_iter().collect();
        }
        if let Some(lease) = change.of::<Lease>() {
            // What was heard only puts off what was to be done; an appointment finds it there.
            let is_ours = lease.object().metadata.namespace == LEASES && lease.before.is_none();
            let name = node_name(&lease.object().metadata.name);
            return is_ours.then(|| Subject::named::<Node>(name)).into_iter().collect();
        }
        let Some(node) = change.of::<Node>() else { return Vec::new() };
        let itself = Subject::of(node.object());
        if node.before.is_some_and(is_ready) == node.after.is_some_and(is_ready) && node.before.is_some() {
            return vec![itself];
        }
        // Whether pods are driven from nodes depends on how many are ready, and pods are as ready as their node.
        let lost = world.all::<Node>().filter(|node| !is_ready(node)).map(|node| Subject::of(&**node));
        let pods = world.marked::<Pod>(&Mark::Node(node.object().metadata.name.clone()));
        [itself].into_iter().chain(lost).chain(pods.map(|pod| Subject::of(&**pod))).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        match subject.kind {
            Pod::KIND => life::look_at_pod(&subject.name, world, tools),
            _ => self.look_at_node(&subject.name, world, tools),
        }
    }
}

impl Nodes {
    fn listen(&mut self, node: &Node, world: &World, now: Timestamp) {
        let name = &node.metadata.name;
        let lease = world.get::<Lease>(&(LEASES.to_owned(), name.clone())).map(|lease| &**lease);
        let is_heard = match self.pulses.get_mut(name) {
            Some(pulse) => pulse.listen(node, lease, now),
            None => self.pulses.insert(name.clone(), Pulse::new(node, lease, now)).is_none(),
        };
        if is_heard {
            self.any_heard = now;
        }
    }

    fn look_at_node(&self, name: &Name, world: &World, tools: &Tools) -> Look {
        let (Some(node), Some(pulse)) = (world.get::<Node>(name), self.pulses.get(&name.1)) else {
            return Look::NOTHING;
        };
        let now = tools.clock.now();
        let view = node_life::View {
            node,
            heard: pulse.heard,
            any_heard: self.any_heard,
            listening: self.listening,
            grace: tools.limits.grace,
        };
        let again_at = match node_life::decide(&view, now) {
            node_life::NodeAction::Leave => None,
            node_life::NodeAction::Wait(until) => Some(until),
            node_life::NodeAction::GiveUp(conditions) => {
                let work = life::give_up(tools.clone(), node.clone(), pulse.clone(), conditions);
                // If it is not given up after all, nothing else says that its time begins anew.
                return Look { again_at: Some(now.plus(tools.limits.grace.silent)), ..Look::work(work) };
            }
        };
        if is_ready(node) {
            return Look { again_at, ..taint::look(node, Census::default(), now, tools) };
        }
        let census = self.census(world, tools.limits.grace, now);
        // When others are heard again nothing else says so.
        let later = (!census.drives_away()).then(|| now.plus(tools.limits.grace.silent));
        Look { again_at: again_at.into_iter().chain(later).min(), ..taint::look(node, census, now, tools) }
    }

    fn census(&self, world: &World, grace: Grace, now: Timestamp) -> Census {
        let heard = |node: &Node| self.pulses.get(&node.metadata.name).map(|pulse| pulse.heard);
        let is_heard = |node: &Node| heard(node).is_some_and(|heard| grace.is_heard(heard, now));
        Census::of(world.all::<Node>().map(|node| (&**node, is_heard(node))))
    }
}

fn node_name(name: &str) -> Name {
    (String::new(), name.to_owned())
}
