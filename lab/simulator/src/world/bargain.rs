//! Worlds in which drivers give devices themselves: a few drivers of random behaviour, pods that want something of several of
//! them at once, and the same faults as everywhere.
//!
//! What a driver has follows from the claims of the API, as with a driver that forgets everything when it dies. Until the world
//! comes to rest drivers are slow, dead for a while, change their minds, stop between two writes, or give something for
//! another node than the one that was chosen. After that they are honest and awake: every pod that could have all it wants
//! on some node has to get it, and what nobody uses has to be given back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use controllers::classic::{self, Duty, Grant};
use controllers::contexts;
use gates::Gate;
use objects::Object;
use objects::core::affinity::NodeSelector;
use objects::core::pod::Pod;
use objects::resource::allocation::ResourceHandle;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::control::{self, Form};
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};

use super::api::{Api, named, text};
use super::component::Component;
use super::dice::Dice;
use super::extras::Extra;
use super::ranks::Ranks;
use super::setup::{Arrangement, Devices, Groups, Sabotage, WorldSetup};
use super::{Happening, Report, World, gangs, node_taints, ranks, workload};

/// How long the world goes on when drivers are honest. Nobody sleeps for longer without being woken than the world lasts.
const CALM_MS: i64 = 120_000;

pub(super) const NODES: usize = 4;
const PODS: usize = 5;
/// Cards of each node that the scheduler gives itself.
pub(super) const CARDS: usize = 1;

/// Groups in worlds of gangs: how many of them are placed at once, and their pods.
const GROUPS: [(&str, usize, &[&str]); 2] =
    [("pair", 2, &["pod-0", "pod-1"]), ("most", 2, &["pod-2", "pod-3", "pod-4"])];

/// Plays the world of a seed.
#[must_use]
pub fn bargain(seed: u64, sabotage: Sabotage, keep_lines: bool) -> Report {
    bargained(seed, sabotage, (keep_lines, false)).report()
}

/// The world of a seed in which drivers give devices themselves, when it is over, with its history and recordings if they are wanted.
pub(super) fn bargained(seed: u64, sabotage: Sabotage, (keep_lines, records): (bool, bool)) -> World {
    let mut setup = WorldSetup::new(seed, sabotage);
    if setup.arrangement == Arrangement::Rivals {
        setup.arrangement = Arrangement::Alone;
    }
    (setup.groups, setup.acts) = (Groups::of_world(seed), 0);
    setup.devices = if setup.groups == Groups::None { Devices::Whole } else { Devices::Partitioned };
    let market = Market::new(seed);
    setup.gangs = market.gangs;
    setup.extras.retain(|extra| *extra == Extra::NodeTaints);
    let gates = gangs::gates_of(&setup).with(Gate::DRAControlPlaneController, true);
    let mut world = World::with_gates(seed, setup, gates, keep_lines);
    world.records = records;
    world.begin(|api, setup, _| {
        market.furnish(api, setup);
        if market.gangs {
            let group = |group| market.group_named(group);
            GROUPS.iter().for_each(|one| drop(api.create(&group(one)).expect("a good group")));
        }
        (0..NODES).for_each(|at| workload::add_machine(api, setup, &node_name(at), CARDS));
    });
    world.market = Some(market);
    world.agenda.after(300, Happening::Bargain);
    world.go_on();
    world.await_rounds();
    if world.violations.is_empty() {
        world.check_bargain();
    }
    world
}

/// The command that plays such a world again, with its history.
#[must_use]
pub fn rebargain_command(seed: u64) -> String {
    format!("cargo run -p simulator -- --negotiation --seed {seed} --trace")
}

/// How many of a group are placed at once.
pub(super) fn at_least(group: &str) -> usize {
    GROUPS.iter().find(|known| known.0 == group).map_or(1, |known| known.1)
}

/// Who trades, and what is still to be done by those who use the cluster.
#[derive(Debug)]
pub(super) struct Market {
    pub traders: Vec<Trader>,
    /// Many pods belong to gangs.
    gangs: bool,
    deeds: u32,
    dice: Dice,
    /// Nodes come and go by chances of their own.
    node_dice: Dice,
    /// And so do taints of nodes.
    taint_dice: Dice,
    /// How important pods are, if that matters.
    pub ranks: Option<Ranks>,
    /// The driver that falls silent when nothing goes wrong any more.
    pub silent: Option<usize>,
}

/// A driver.
#[derive(Clone, Debug)]
pub(super) struct Trader {
    pub name: String,
    /// What it has: by node, or all of it under the empty name if every node reaches it.
    room: BTreeMap<String, usize>,
    pub shareable: bool,
    /// How often it does something, in a thousand chances.
    pace: u32,
    /// It changes its mind.
    is_fickle: bool,
    /// It gives something for another node.
    is_wrong: bool,
    down_until: i64,
    /// At this revision it found nothing to do, and would find the same again.
    idle_at: Option<u64>,
}

pub(super) fn node_name(at: usize) -> String {
    format!("node-{at}")
}

impl Trader {
    fn new(at: usize, dice: &mut Dice) -> Trader {
        let is_local = dice.below(3) > 0;
        let places = if is_local { (0..NODES).map(node_name).collect() } else { vec![String::new()] };
        let room = |dice: &mut Dice| dice.below(if is_local { 3 } else { 4 });
        Trader {
            name: format!("driver-{at}.example.com"),
            room: places.into_iter().map(|place| (place, room(dice))).collect(),
            shareable: dice.below(2) == 0,
            pace: [900, 500, 100][dice.below(3)],
            is_fickle: dice.below(3) == 0,
            is_wrong: dice.below(4) == 0,
            down_until: 0,
            idle_at: None,
        }
    }

    /// One that does what it should.
    pub fn honest(at: usize, room: BTreeMap<String, usize>) -> Trader {
        Trader {
            name: format!("driver-{at}.example.com"),
            room,
            shareable: true,
            pace: 1_000,
            is_fickle: false,
            is_wrong: false,
            down_until: 0,
            idle_at: None,
        }
    }

    /// Where it has something.
    pub fn places(&self) -> impl Iterator<Item = &str> {
        self.room.keys().map(String::as_str)
    }

    pub fn is_local(&self) -> bool {
        !self.room.contains_key("")
    }

    /// How many are left for a node, if these claims had nothing.
    pub fn left(&self, node: &str, claims: &[Arc<ResourceClaim>], but_for: &BTreeSet<String>) -> usize {
        let place = if self.is_local() { node } else { "" };
        let given = claims.iter().filter(|claim| {
            control::controller(claim) == self.name && !but_for.contains(&claim.metadata.uid)
        });
        let here = given.filter(|claim| !self.is_local() || place_of(claim) == place).count();
        self.room.get(place).copied().unwrap_or_default().saturating_sub(here)
    }

    fn grant(&self, node: &str) -> Grant {
        let handle =
            ResourceHandle { driver_name: self.name.clone(), data: node.to_owned(), ..Default::default() };
        let nodes = self.is_local().then(|| NodeSelector::only(node));
        Grant { nodes, shareable: self.shareable, handles: vec![handle], ..Grant::default() }
    }
}

/// The node that a claim was given something for.
pub(super) fn place_of(claim: &ResourceClaim) -> String {
    let handles = control::handles(claim).unwrap_or_default();
    handles.first().map(|handle| handle.data.clone()).unwrap_or_default()
}

impl Market {
    fn new(seed: u64) -> Market {
        let mut dice = Dice::new(seed, 7);
        let traders: Vec<Trader> = (0..1 + dice.below(3)).map(|at| Trader::new(at, &mut dice)).collect();
        let deeds = 10 + u32::try_from(dice.below(15)).unwrap_or_default();
        // Of numbers of its own, so that the other worlds stay what they were.
        let gangs = Dice::new(seed, 8).below(3) == 0;
        let mut ranks = Ranks::of_world(seed);
        let silent = ranks.as_mut().and_then(|ranks| ranks.silent(traders.len()));
        let (node_dice, taint_dice) = (Dice::new(seed, 9), node_taints::dice(seed));
        Market { traders, gangs, deeds, dice, node_dice, taint_dice, ranks, silent }
    }

    /// A market in which nobody acts by chance.
    pub fn of(traders: Vec<Trader>) -> Market {
        let (dice, node_dice, taint_dice) = (Dice::new(0, 7), Dice::new(0, 9), node_taints::dice(0));
        Market { traders, gangs: false, deeds: 0, dice, node_dice, taint_dice, ranks: None, silent: None }
    }

    /// A group whose members stay in one rack.
    fn group_named(&self, (name, at_least, _): &(&str, usize, &[&str])) -> Value {
        let mut group = named("scheduling.k8s.io/v1beta1", "PodGroup", name);
        group["spec"] = json!({
            "schedulingPolicy": { "gang": { "minCount": at_least } },
            "schedulingConstraints": { "topology": [{ "key": gangs::RACK }] },
        });
        if self.ranks.is_some() {
            group["spec"]["priorityClassName"] = json!(ranks::class_of(name));
        }
        group
    }

    /// What there is from the beginning, but for nodes.
    pub fn furnish(&self, api: &mut Api, setup: &WorldSetup) {
        workload::furnish_basics(api, setup);
        for trader in &self.traders {
            let class = json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": trader.name },
                "spec": { "controllerName": trader.name },
            });
            api.create(&class).expect("a good class");
        }
    }

    /// Somebody makes or deletes a pod. The uid of one that is deleted without waiting for its node is given.
    fn act(&mut self, api: &mut Api, setup: &WorldSetup) -> Option<String> {
        self.deeds -= 1;
        let name = format!("pod-{}", self.dice.below(PODS));
        if let Some(pod) = api.get("Pod", "default", &name) {
            let _ = api.delete("Pod", ("default", &name), Some(0), None);
            return Some(text(&pod["metadata"]["uid"]).to_owned());
        }
        let mut entries = Vec::new();
        for at in 0..1 + self.dice.below(3) {
            let trader = self.dice.pick(&self.traders).expect("there is one").name.clone();
            // Some claims have names that several pods use.
            let claim = match self.dice.below(6) {
                0 => format!("shared-{trader}"),
                _ => format!("{name}-{at}-{trader}"),
            };
            let claim = claim.replace(".example.com", "");
            let mut spec = json!({ "devices": { "requests": [
                { "name": "r", "exactly": { "deviceClassName": trader } },
            ] } });
            if self.dice.below(12) == 0 {
                spec["allocationMode"] = json!("Immediate");
            }
            self.claim(api, &claim, spec);
            if !entries.iter().any(|entry: &Value| entry["resourceClaimName"] == *claim) {
                entries.push(json!({ "name": format!("c{at}"), "resourceClaimName": claim }));
            }
        }
        if self.dice.below(4) == 0 {
            let claim = format!("{name}-card");
            self.claim(api, &claim, workload::claim_spec(setup, 1));
            entries.push(json!({ "name": "card", "resourceClaimName": claim }));
        }
        let mut pod = named("v1", "Pod", &name);
        pod["spec"] = json!({
            "schedulerName": workload::SCHEDULERS[0], "restartPolicy": "Never",
            "containers": [{ "name": "c", "image": "i" }], "resourceClaims": entries,
        });
        if setup.has(Extra::NodeTaints) {
            node_taints::dress(&mut pod, &self.dice);
        }
        if self.gangs && self.dice.below(5) > 0 {
            let (group, ..) = GROUPS.iter().find(|one| one.2.contains(&&*name)).expect("every pod has one");
            pod["spec"]["schedulingGroup"] = json!({ "podGroupName": group });
        }
        if let Some(ranks) = &mut self.ranks {
            ranks.dress(&mut pod);
        }
        api.create(&pod).expect("a good pod");
        None
    }

    /// A node is cordoned, or no longer; or goes if no pod is on it, or comes back. Pods may wait for what they get there. What was
    /// done is told.
    fn move_nodes(&mut self, api: &mut Api, setup: &WorldSetup) -> Option<String> {
        if !self.node_dice.per_mille(60) {
            return None;
        }
        let name = node_name(self.node_dice.below(NODES));
        if api.get("Node", "", &name).is_none() {
            workload::add_machine(api, setup, &name, CARDS);
            return Some(format!("adds {name}"));
        }
        let is_used = api.list("Pod").iter().any(|(_, pod)| text(&pod["spec"]["nodeName"]) == name);
        if !is_used && self.node_dice.below(2) == 0 {
            let _ = api.delete("Node", ("", &name), None, None);
            return Some(format!("removes {name}"));
        }
        workload::change(api, "Node", "", &name, &|node| {
            node["spec"]["unschedulable"] = json!(node["spec"]["unschedulable"] != true);
        });
        Some(format!("takes pods from or gives them to {name}"))
    }

    /// A node gets a taint or loses one, in worlds that have them. What was done is told.
    fn taint_nodes(&mut self, api: &mut Api, setup: &WorldSetup) -> Option<String> {
        if !setup.has(Extra::NodeTaints) || !self.taint_dice.per_mille(60) {
            return None;
        }
        let mut done = None;
        let mut told = |what: &str, name: &str| done = Some(format!("{what} {name}"));
        node_taints::act(api, NODES, &mut self.taint_dice, &mut told);
        done
    }

    /// All nodes are there and are not cordoned. Their taints stay.
    fn restore_nodes(api: &mut Api, setup: &WorldSetup) {
        for name in (0..NODES).map(node_name) {
            if api.get("Node", "", &name).is_none() {
                workload::add_machine(api, setup, &name, CARDS);
            }
            workload::change(api, "Node", "", &name, &|node| node["spec"]["unschedulable"] = json!(false));
        }
    }

    fn claim(&mut self, api: &mut Api, name: &str, spec: Value) {
        let mut claim = named("resource.k8s.io/v1", "ResourceClaim", name);
        claim["spec"] = spec;
        // It may be there already.
        let _ = api.create(&claim);
    }
}

pub(super) fn all<K: Object + Send + Sync + 'static>(api: &mut Api, kind: &str) -> Vec<Arc<K>> {
    api.list(kind).iter().map(|(_, object)| Arc::clone(object.read())).collect()
}

fn write(api: &mut Api, claim: &ResourceClaim, status: bool) -> Option<Arc<ResourceClaim>> {
    let mut value = claim.write_value();
    (value["apiVersion"], value["kind"]) = (json!(ResourceClaim::API_VERSION), json!(ResourceClaim::KIND));
    api.update(ResourceClaim::KIND, value, status).ok().map(|written| Arc::clone(written.read()))
}

impl World {
    /// Drivers do something, and those who use the cluster.
    pub(super) fn trade(&mut self) {
        self.agenda.after(self.chances.millis(20, 150), Happening::Bargain);
        let Some(mut market) = self.market.take() else { return };
        if market.deeds > 0 && market.dice.per_mille(150) {
            if let Some(pod) = market.act(&mut self.api, &self.setup) {
                self.forsake(&pod);
            }
            if market.deeds == 0 {
                Market::restore_nodes(&mut self.api, &self.setup);
                self.trace.note(self.agenda.now(), format_args!("from here on nothing goes wrong"));
                self.setup.calm = true;
                self.end = Some(self.agenda.now() + CALM_MS);
            }
        }
        if market.deeds > 0
            && let Some(ranks) = &mut market.ranks
        {
            ranks.act(&mut self.api);
        }
        if market.deeds > 0 {
            let moved = market.move_nodes(&mut self.api, &self.setup);
            let tainted = market.taint_nodes(&mut self.api, &self.setup);
            for what in moved.into_iter().chain(tainted) {
                self.trace.note(self.agenda.now(), format_args!("somebody {what}"));
            }
        }
        let (now, honest) = (self.agenda.now(), self.is_honest());
        for at in 0..market.traders.len() {
            if !honest && market.dice.per_mille(5) {
                market.traders[at].down_until = now + market.dice.millis(500, 8_000);
            }
            let trader = market.traders[at].clone();
            let is_silent = self.setup.calm && market.silent == Some(at);
            let is_awake = honest || (trader.down_until <= now && market.dice.per_mille(trader.pace));
            let revision = Some(self.api.revision());
            if is_awake && !is_silent && !self.lenders_are_down() && (!honest || trader.idle_at != revision) {
                self.trade_as(&trader, &mut market.dice);
                market.traders[at].idle_at = revision.filter(|before| *before == self.api.revision());
            }
        }
        if market.dice.per_mille(100) && self.keeper.down_until <= now {
            self.clean_contexts();
        }
        self.market = Some(market);
    }

    /// Whether drivers do what they should, unless they are dead.
    fn is_honest(&self) -> bool {
        self.setup.calm || self.life.is_some()
    }

    fn lenders_are_down(&self) -> bool {
        self.lenders_down_until > self.agenda.now()
    }

    /// Nothing is negotiated about, and no driver gave anything that nobody uses, but for what is given whoever uses it.
    pub(super) fn has_let_go(&mut self) -> bool {
        let claims: Vec<Arc<ResourceClaim>> = all(&mut self.api, "ResourceClaim");
        let is_kept = |claim: &Arc<ResourceClaim>| {
            !control::controller(claim).is_empty() && !control::is_immediate(claim)
        };
        !claims.iter().any(is_kept) && self.api.list("PodSchedulingContext").is_empty()
    }

    fn trade_as(&mut self, trader: &Trader, dice: &mut Dice) {
        let claims: Vec<Arc<ResourceClaim>> = all(&mut self.api, "ResourceClaim");
        let classes: Vec<Arc<DeviceClass>> = all(&mut self.api, "DeviceClass");
        let is_own = |claim: &ResourceClaim| {
            let class = |name: &str| classes.iter().find(|one| one.metadata.name == name).map(|one| &**one);
            let found = classic::classes_of(claim, &class);
            found.is_some_and(|(said, _)| said.controller == trader.name)
        };
        for claim in &claims {
            let form = is_own(claim).then_some(Form::Fields);
            match classic::duty(claim, &trader.name, form) {
                Duty::None => {}
                Duty::Deallocate => return self.take_back(trader, claim, dice),
                Duty::Allocate => {
                    let place =
                        trader.room.keys().find(|node| trader.left(node, &claims, &BTreeSet::new()) > 0);
                    if let Some(place) = place {
                        return self.give(trader, &[&**claim], place, None, dice);
                    }
                }
            }
        }
        let contexts: Vec<Arc<PodSchedulingContext>> = all(&mut self.api, "PodSchedulingContext");
        for context in &contexts {
            let (namespace, name) = (&context.metadata.namespace, &context.metadata.name);
            let Some(pod) = self.api.get("Pod", namespace, name) else { continue };
            let pod = pod.read::<Pod>();
            if !classic::is_open(context, pod) {
                continue;
            }
            let find =
                |name: &str| claims.iter().find(|claim| claim.metadata.name == name).map(|claim| &**claim);
            let wanted: Vec<classic::Wanted> =
                classic::wanted(pod, &find).into_iter().filter(|one| is_own(&one.claim)).collect();
            if !wanted.is_empty() && self.negotiate_as(trader, (context, pod), &wanted, &claims, dice) {
                return;
            }
        }
    }

    /// Answers about a pod or gives it something, and says whether something was written.
    fn negotiate_as(
        &mut self,
        trader: &Trader,
        (context, pod): (&PodSchedulingContext, &Pod),
        wanted: &[classic::Wanted],
        claims: &[Arc<ResourceClaim>],
        dice: &mut Dice,
    ) -> bool {
        let calm = self.is_honest();
        let entries: BTreeSet<&str> = wanted.iter().map(|one| one.entry.as_str()).collect();
        let nodes = classic::nodes_to_judge(context, &entries);
        let none = BTreeSet::new();
        let bad = |node: &&String| trader.left(node, claims, &none) < wanted.len();
        let mut unsuitable: BTreeSet<String> = nodes.iter().filter(bad).cloned().collect();
        if trader.is_fickle && !calm && dice.below(3) == 0 {
            unsuitable.extend(dice.pick(&nodes).cloned());
        }
        let selected = &context.spec.selected_node;
        if !selected.is_empty() && !unsuitable.contains(selected) {
            let elsewhere =
                || (0..NODES).map(node_name).find(|node| trader.left(node, claims, &none) >= wanted.len());
            let at = if trader.is_wrong && !calm {
                elsewhere().unwrap_or_else(|| selected.clone())
            } else {
                selected.clone()
            };
            let claims: Vec<&ResourceClaim> = wanted.iter().map(|one| &one.claim).collect();
            self.give(trader, &claims, &at, Some(pod), dice);
            return true;
        }
        let said = wanted.iter().map(|one| (one.entry.clone(), unsuitable.clone())).collect();
        let Some(answered) = classic::answer(context, &said) else { return false };
        let mut value = serde_json::to_value(&answered).expect("the keys of our wire types are texts");
        let (version, kind) = (PodSchedulingContext::API_VERSION, PodSchedulingContext::KIND);
        (value["apiVersion"], value["kind"]) = (json!(version), json!(kind));
        let done = self.api.update(kind, value, true).is_ok();
        let (now, name) = (self.agenda.now(), &context.metadata.name);
        self.trace.note(now, format_args!("{} will not have {name} on {unsuitable:?} ({done})", trader.name));
        self.did(Component::Lender, &format!("answer about pod {name}"), 0);
        true
    }

    fn give(
        &mut self,
        trader: &Trader,
        claims: &[&ResourceClaim],
        node: &str,
        pod: Option<&Pod>,
        dice: &mut Dice,
    ) {
        let grant = trader.grant(node);
        for claim in claims {
            let mut claim = Arc::new(ResourceClaim::clone(claim));
            if let Some(described) = classic::described(&claim, &trader.name, &grant, Form::Fields) {
                let Some(written) = write(&mut self.api, &described, false) else { return };
                claim = written;
                self.did(Component::Lender, &format!("protect claim {}", claim.metadata.name), 0);
            }
            if self.lenders_are_down() || (!self.is_honest() && dice.below(10) == 0) {
                return;
            }
            let given = classic::given(&claim, &trader.name, grant.clone(), Form::Fields, pod);
            let done = write(&mut self.api, &given, true).is_some();
            let (now, name) = (self.agenda.now(), &claim.metadata.name);
            self.trace.note(now, format_args!("{} gives to {name} at {node:?} ({done})", trader.name));
            self.did(Component::Lender, &format!("give to claim {name}"), 0);
            if self.lenders_are_down() {
                return;
            }
        }
    }

    fn take_back(&mut self, trader: &Trader, claim: &ResourceClaim, dice: &mut Dice) {
        let mut claim = Arc::new(claim.clone());
        if let Some(freed) = classic::freed(&claim) {
            let Some(written) = write(&mut self.api, &freed, true) else { return };
            claim = written;
        }
        self.trace.note(
            self.agenda.now(),
            format_args!("{} takes back what {} had", trader.name, claim.metadata.name),
        );
        let name = &claim.metadata.name;
        self.did(Component::Lender, &format!("take back what claim {name} had"), 0);
        if self.lenders_are_down() || (!self.is_honest() && dice.below(10) == 0) {
            return;
        }
        if let Some(free) = classic::unprotected(&claim, &trader.name) {
            write(&mut self.api, &free, false);
            self.did(Component::Lender, &format!("take the protection of claim {name} away"), 0);
        }
    }

    /// What the controllers of a cluster do about contexts that nobody needs.
    fn clean_contexts(&mut self) {
        let claims: Vec<Arc<ResourceClaim>> = all(&mut self.api, "ResourceClaim");
        let is_allocated = |name: &str| {
            claims.iter().any(|claim| claim.metadata.name == name && claim.status.allocation.is_some())
        };
        for context in all::<PodSchedulingContext>(&mut self.api, "PodSchedulingContext") {
            let (namespace, name) = (&context.metadata.namespace, &context.metadata.name);
            let pod = self.api.get("Pod", namespace, name);
            let pod = pod.as_ref().map(|pod| &**pod.read::<Pod>());
            if contexts::is_over(&context, pod, is_allocated) {
                let uid = Some(context.metadata.uid.as_str());
                let _ = self.api.delete("PodSchedulingContext", (namespace, name), None, uid);
                self.did(Component::Controller, &format!("delete the context of pod {name}"), 0);
            }
        }
    }
}
