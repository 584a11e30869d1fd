//! What the page shows, kept up to date change by change.
//!
//! Invariant: what an update says, added to what was said before, is what a new reader is told at once. Only what a change may have
//! touched is looked at again, so that an update costs as much as what changed.

mod dirty;
mod pods;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::change::Change;
use cluster::facts::Facts;
use decisions::considering::Snapshot;
use decisions::settings::Settings;
use inventory::devices::{CounterRow, DeviceRow, inventory_of};
use inventory::domains::{Domain, levels, root};
use inventory::observed::{Namespaces, Observed};
use inventory::place::DevicePlace;
use model::claim::ClaimId;
use model::claim_use::ClaimUse;
use model::device::{DeviceId, PoolId};
use model::identity::{NodeName, PodUid};
use model::pod::PodId;
use model::timestamp::Timestamp;
use scheduler::engine::{Engine, Input};
use serde_json::{Value, json};

use crate::decisions::{Decided, Decision, Decisions};
use crate::figures::{Figures, Sample};
use crate::nodes::{PoolRows, node, shared_pool};
use crate::waiting::{PodNote, WaitingPod, WaitingPods};
use dirty::Dirty;

/// How many objects an update has at most; of more, it only says that everything is to be loaded again.
const UPDATE_MAX: usize = 1_500;

/// How many pods that wait are listed, those that wait for the longest time.
pub const WAITING_MAX: usize = 2_000;

/// How many decisions are listed.
pub const DECISIONS_MAX: usize = 500;

/// What an object says beyond what decisions need.
#[derive(Clone, PartialEq, Debug)]
pub enum Note {
    /// Nothing.
    Nothing,
    /// A pod's conditions.
    Pod(PodNote),
    /// A claim's users and devices.
    Claim(ClaimUse),
}

/// What is known of a cluster, and what was said of it.
pub struct Observer {
    engine: Engine,
    uses: BTreeMap<ClaimId, ClaimUse>,
    /// The namespaces whose claims are known.
    claims: Namespaces,
    /// The namespaces of which claims and pods are named.
    named: Namespaces,
    waiting: WaitingPods,
    evicted: BTreeSet<PodUid>,
    decisions: Decisions,
    figures: Figures,
    dirty: Dirty,
    pools: BTreeMap<PoolId, Pool>,
    of_node: BTreeMap<NodeName, BTreeSet<PoolId>>,
    levels: Vec<Arc<str>>,
    /// What was said of nodes, of pools that several nodes reach, and of pods that wait.
    nodes: BTreeMap<NodeName, Arc<str>>,
    shared: BTreeMap<PoolId, Arc<str>>,
    rows: BTreeMap<PodUid, Arc<str>>,
    /// The first decisions that were not said, and not counted in figures.
    unsaid: u64,
    uncounted: u64,
    revision: u64,
    /// Objects that were there before are still being told.
    reading: bool,
}

/// What is known of a pool.
#[derive(Default)]
struct Pool {
    devices: Vec<DeviceRow>,
    counters: Vec<CounterRow>,
    /// The node that alone reaches it.
    node: Option<NodeName>,
}

impl Observer {
    /// Nothing is known yet. Claims and pods of these namespaces are named.
    #[must_use]
    pub fn new(settings: Settings, named: Namespaces) -> Observer {
        Observer {
            engine: Engine::new(settings),
            uses: BTreeMap::new(),
            claims: Namespaces::All,
            named,
            waiting: WaitingPods::new(),
            evicted: BTreeSet::new(),
            decisions: Decisions::default(),
            figures: Figures::default(),
            dirty: Dirty::default(),
            pools: BTreeMap::new(),
            of_node: BTreeMap::new(),
            levels: Vec::new(),
            nodes: BTreeMap::new(),
            shared: BTreeMap::new(),
            rows: BTreeMap::new(),
            unsaid: 0,
            uncounted: 0,
            revision: 0,
            reading: true,
        }
    }

    /// The state of a moment that an engine knows, with what is known of pods that wait.
    #[must_use]
    pub fn still(
        engine: Engine,
        uses: BTreeMap<ClaimId, ClaimUse>,
        claims: Namespaces,
        named: Namespaces,
        notes: &BTreeMap<PodId, PodNote>,
    ) -> Observer {
        let snapshot = engine.snapshot();
        let mut observer = Observer::new(snapshot.settings, named);
        observer.engine = engine;
        observer.claims = claims;
        for (id, used) in uses {
            observer.take_claim(snapshot.now, &id, used);
        }
        for (uid, pod) in snapshot.facts.waiting.iter() {
            if pod.node.is_some() || !observer.names(&pod.id.namespace) {
                continue;
            }
            let note = notes.get(&pod.id).cloned().unwrap_or_default();
            observer.waiting.insert(uid.clone(), WaitingPod { pod: pod.clone(), note });
        }
        (observer.dirty.everything, observer.dirty.levels) = (true, true);
        observer.finish_reading();
        observer
    }

    /// Only claims of these namespaces may be read: others may hold what looks free.
    pub fn limit_claims(&mut self, namespaces: Namespaces) {
        self.claims = namespaces;
        self.dirty.everything = true;
    }

    /// Takes note of a change, and of what its object says beyond it.
    pub fn take(&mut self, now: Timestamp, change: Change, note: Note) {
        self.dirty.note(&change, self.engine.facts());
        match &change {
            Change::PodApplied(pod) => self.take_pod(now, pod, note),
            Change::PodGone(uid) => self.forget_pod(uid),
            Change::ClaimApplied(state) | Change::ClaimListed(state) | Change::ClaimAnswered(state) => {
                if let Note::Claim(used) = note {
                    self.take_claim(now, &state.wish.id, used);
                }
            }
            Change::ClaimGone(id) => {
                self.take_claim(now, id, ClaimUse::default());
                self.uses.remove(id);
            }
            _ => {}
        }
        // The engine learns and is never asked to decide, so nothing has to be done.
        drop(self.engine.handle(now, Input::Changed(change)));
    }

    /// Everything that was there at the beginning was told.
    pub fn finish_reading(&mut self) {
        if self.reading {
            self.decisions.sort();
        }
        self.reading = false;
    }

    /// Whether objects that were there at the beginning are still being told.
    #[must_use]
    pub fn is_reading(&self) -> bool {
        self.reading
    }

    fn take_claim(&mut self, now: Timestamp, id: &ClaimId, used: ClaimUse) {
        let had = self.uses.get(id).is_some_and(|known| !known.devices.is_empty());
        let what = match (had, used.devices.is_empty()) {
            (false, false) => Some(Decided::Allocated),
            (true, true) => Some(Decided::Deallocated),
            _ => None,
        };
        let of = |used: &ClaimUse| used.devices.iter().map(|one| one.device.to_string()).collect();
        if let Some(what) = what.filter(|_| self.named.contains(&id.namespace)) {
            let known = self.uses.get(id);
            let devices =
                if what == Decided::Allocated { of(&used) } else { known.map(of).unwrap_or_default() };
            let since = used.since.filter(|_| self.reading);
            self.decisions.push(Decision {
                at: since.unwrap_or(now),
                what,
                kind: "ResourceClaim",
                namespace: id.namespace.clone(),
                name: id.name.clone(),
                node: None,
                devices,
                message: None,
                waited_ms: None,
            });
        }
        for one in used.devices.iter().chain(self.uses.get(id).into_iter().flat_map(|known| &known.devices)) {
            self.dirty.pools.insert(one.device.pool_id());
        }
        self.uses.insert(id.clone(), used);
    }

    /// What is known of the cluster.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        self.engine.facts()
    }

    /// Whether objects of a namespace are named.
    #[must_use]
    pub fn names(&self, namespace: &str) -> bool {
        self.named.contains(namespace)
    }

    /// What a scheduler would decide from.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.engine.snapshot()
    }

    /// When a claim got its devices, if it says so.
    #[must_use]
    pub fn allocated_at(&self, id: &ClaimId) -> Option<Timestamp> {
        self.uses.get(id).and_then(|used| used.since)
    }

    /// What was decided.
    #[must_use]
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Figures over time.
    #[must_use]
    pub fn figures(&self) -> Value {
        self.figures.document()
    }

    /// Whether there is something to say.
    #[must_use]
    pub fn has_news(&self) -> bool {
        !self.dirty.is_clean() || self.unsaid < self.decisions.next()
    }

    /// Looks again at what was touched, and tells what is otherwise now.
    pub fn update(&mut self) -> Option<String> {
        if !self.has_news() {
            return None;
        }
        let mut dirty = std::mem::take(&mut self.dirty);
        let relabelled = dirty.levels && self.relevel();
        self.look_at_pools(&mut dirty);
        let (nodes, nodes_gone) = self.look_at_nodes(&dirty, relabelled);
        let (shared, shared_gone) = self.look_at_shared(&dirty);
        let (waiting, waiting_gone) = self.look_at_waiting(&dirty);
        self.revision += 1;
        let decisions = self.decisions.since(self.unsaid, DECISIONS_MAX);
        self.unsaid = self.decisions.next();
        let revision = self.revision;
        if nodes.len() + waiting.len() + nodes_gone.len() + waiting_gone.len() > UPDATE_MAX {
            return Some(json!({ "revision": revision, "reload": true }).to_string());
        }
        let mut text = format!("{{\"revision\":{revision},\"waitingCount\":{}", self.waiting.len());
        let mut put = |name: &str, items: &[Arc<str>]| {
            if !items.is_empty() {
                text.push_str(&format!(",\"{name}\":[{}]", items.join(",")));
            }
        };
        put("nodes", &nodes);
        put("nodesGone", &nodes_gone);
        put("shared", &shared);
        put("sharedGone", &shared_gone);
        put("waiting", &waiting);
        put("waitingGone", &waiting_gone);
        put("decisions", &decisions.iter().map(|one| Arc::from(one.to_string())).collect::<Vec<_>>());
        if relabelled {
            put("levels", &self.levels.iter().map(|level| quoted(level)).collect::<Vec<_>>());
        }
        text.push('}');
        Some(text)
    }

    /// Looks for the levels again, and says whether they are others.
    fn relevel(&mut self) -> bool {
        let levels = levels(self.facts());
        let is_new = levels != self.levels;
        self.levels = levels;
        is_new
    }

    fn look_at_pools(&mut self, dirty: &mut Dirty) {
        let facts = self.engine.facts();
        if dirty.everything {
            dirty.pools.extend(self.pools.keys().cloned());
            dirty.pools.extend(facts.slices.iter().map(|published| published.slice.pool.clone()));
        }
        if dirty.pools.is_empty() {
            return;
        }
        let observed = Observed { facts, uses: &self.uses, claims: &self.claims, named: &self.named };
        let found = inventory_of(&observed, &dirty.pools);
        let mut pools: BTreeMap<PoolId, Pool> = BTreeMap::new();
        for row in found.devices {
            pools.entry(row.id.pool_id()).or_default().devices.push(row);
        }
        for row in found.counters {
            pools.entry(row.pool.clone()).or_default().counters.push(row);
        }
        for id in &dirty.pools {
            let known = self.pools.remove(id).and_then(|known| known.node);
            if let Some(node) = known {
                self.of_node.entry(node.clone()).or_default().remove(id);
                dirty.nodes.insert(node);
            }
            let Some(mut pool) = pools.remove(id) else { continue };
            pool.node = only_node(&pool.devices);
            if let Some(node) = &pool.node {
                self.of_node.entry(node.clone()).or_default().insert(id.clone());
                dirty.nodes.insert(node.clone());
            }
            self.pools.insert(id.clone(), pool);
        }
    }

    fn look_at_nodes(&mut self, dirty: &Dirty, all: bool) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let facts = self.engine.facts();
        let mut names: BTreeSet<NodeName> = dirty.nodes.clone();
        if all || dirty.everything {
            names.extend(facts.nodes.iter().filter_map(|(_, state)| Some(state.node.as_ref()?.name.clone())));
        }
        let (mut applied, mut gone) = (Vec::new(), Vec::new());
        for name in names {
            let state = facts.nodes.find(&name).map(|at| facts.nodes.get(at));
            let Some((state, known)) = state.and_then(|state| Some((state, state.node.as_ref()?))) else {
                if self.nodes.remove(&name).is_some() {
                    gone.push(quoted(&name));
                }
                continue;
            };
            let pools = self.of_node.get(&name).into_iter().flatten();
            let pools: Vec<PoolRows<'_>> =
                pools.filter_map(|id| Some(self.pools.get(id)?.rows(id))).collect();
            let text: Arc<str> = node(known, state, &self.levels, &pools).to_string().into();
            if self.nodes.get(&name) != Some(&text) {
                self.nodes.insert(name, text.clone());
                applied.push(text);
            }
        }
        (applied, gone)
    }

    fn look_at_shared(&mut self, dirty: &Dirty) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let (mut applied, mut gone) = (Vec::new(), Vec::new());
        for id in &dirty.pools {
            let Some(pool) = self.pools.get(id).filter(|pool| pool.node.is_none()) else {
                if self.shared.remove(id).is_some() {
                    gone.push(quoted(&format!("{}/{}", id.driver, id.pool)));
                }
                continue;
            };
            let text: Arc<str> = shared_pool(&pool.rows(id)).to_string().into();
            if self.shared.get(id) != Some(&text) {
                self.shared.insert(id.clone(), text.clone());
                applied.push(text);
            }
        }
        (applied, gone)
    }

    fn look_at_waiting(&mut self, dirty: &Dirty) -> (Vec<Arc<str>>, Vec<Arc<str>>) {
        let facts = self.engine.facts();
        let mut uids = dirty.waiting.clone();
        if dirty.all_waiting || dirty.everything {
            uids.extend(self.waiting.keys().cloned());
        }
        let (mut applied, mut gone) = (Vec::new(), Vec::new());
        for uid in uids {
            let Some(waiting) = self.waiting.get(&uid) else {
                if self.rows.remove(&uid).is_some() {
                    gone.push(quoted(&uid));
                }
                continue;
            };
            let text: Arc<str> = waiting.document(facts).to_string().into();
            if self.rows.get(&uid) != Some(&text) {
                self.rows.insert(uid, text.clone());
                applied.push(text);
            }
        }
        (applied, gone)
    }

    /// The nodes with their devices, as they were said last.
    #[must_use]
    pub fn cluster(&self) -> Parts {
        let levels = json!(self.levels.iter().map(|level| &**level).collect::<Vec<_>>());
        Parts {
            head: format!("{{\"revision\":{},\"levels\":{levels}", self.revision),
            lists: vec![
                ("nodes", self.nodes.values().cloned().collect()),
                ("shared", self.shared.values().cloned().collect()),
            ],
        }
    }

    /// The pods that wait, as they were said last; the first of them if there are very many.
    #[must_use]
    pub fn waiting(&self) -> Parts {
        let mut oldest: Vec<_> = self.rows.keys().filter_map(|uid| self.waiting.get_key_value(uid)).collect();
        oldest.sort_by_key(|(uid, waiting)| (waiting.pod.created, *uid));
        let rows = oldest.iter().take(WAITING_MAX).filter_map(|(uid, _)| self.rows.get(*uid).cloned());
        let head = format!("{{\"revision\":{},\"count\":{}", self.revision, self.waiting.len());
        Parts { head, lists: vec![("pods", rows.collect())] }
    }

    /// Sums of the cluster by domains: by these labels, or by those that topologies name.
    #[must_use]
    pub fn domains(&self) -> (Vec<Arc<str>>, Domain) {
        let levels = levels(self.facts());
        let root = self.root(&levels);
        (levels, root)
    }

    fn root(&self, levels: &[Arc<str>]) -> Domain {
        let observed =
            Observed { facts: self.facts(), uses: &self.uses, claims: &self.claims, named: &self.named };
        root(&observed, self.pools.values().flat_map(|pool| &pool.devices), levels)
    }

    /// Takes a sample of the figures, and tells it with the sums of the cluster.
    pub fn sample(&mut self, now: Timestamp) -> String {
        let root = self.root(&[]);
        let waits = self.decisions.waits_since(self.uncounted);
        self.uncounted = self.decisions.next();
        let sample = Sample::of(now, &root, self.waiting.len(), waits);
        self.figures.push(sample);
        let mut document = sample.document();
        document["nodes"] = json!(root.nodes.len());
        document["drivers"] = crate::domains::tallies(&root.by_driver);
        document.to_string()
    }

    /// A device with all that is known of it, and what was decided about it.
    #[must_use]
    pub fn device(&self, id: &DeviceId) -> Option<Value> {
        let row = self.pools.get(&id.pool_id())?.devices.iter().find(|row| row.id == *id)?;
        let mut document = crate::devices::device(row);
        document["decisions"] = self.decisions.about_device(&id.to_string()).into();
        Some(document)
    }
}

impl Pool {
    fn rows<'p>(&'p self, id: &'p PoolId) -> PoolRows<'p> {
        PoolRows { id, devices: &self.devices, counters: &self.counters }
    }
}

/// A document of which most was written before.
#[derive(Debug)]
pub struct Parts {
    head: String,
    lists: Vec<(&'static str, Vec<Arc<str>>)>,
}

impl Parts {
    /// The document.
    #[must_use]
    pub fn text(&self) -> String {
        let size: usize = self.lists.iter().flat_map(|(_, items)| items).map(|item| item.len() + 1).sum();
        let mut text = String::with_capacity(self.head.len() + size + 64);
        text.push_str(&self.head);
        for (name, items) in &self.lists {
            text.push_str(&format!(",\"{name}\":["));
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    text.push(',');
                }
                text.push_str(item);
            }
            text.push(']');
        }
        text.push('}');
        text
    }
}

/// The node that alone reaches all devices.
fn only_node(rows: &[DeviceRow]) -> Option<NodeName> {
    let name = |row: &DeviceRow| match &row.place {
        DevicePlace::Node(name) => Some(name.clone()),
        DevicePlace::Nodes(names) if names.len() == 1 => names.first().cloned(),
        DevicePlace::Nodes(_) | DevicePlace::AllNodes => None,
    };
    let first = name(rows.first()?)?;
    rows.iter().all(|row| name(row).as_ref() == Some(&first)).then_some(first)
}

fn quoted(text: &str) -> Arc<str> {
    json!(text).to_string().into()
}
