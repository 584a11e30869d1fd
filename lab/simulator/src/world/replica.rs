//! A scheduler of a world: an engine, and what it was told of each kind.
//!
//! Invariant: of each kind it hears what happened in the order in which it happened, sooner or later. Between kinds there
//! is no order.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::change::Change;
use convert::followed::{self, FollowedKind};
use decisions::considering::Consideration;
use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use model::timestamp::Timestamp;
use scheduler::engine::{ConsiderationId, Effect, Engine, Input};
use scheduling::recording::{
    EngineStart, FactOrigin, Line, RecordedEffect, RecordedInput, RecordedObject, StartSettings,
};
use store::{FieldSelector, Key, Selection};

use super::api::{Api, Site, text};
use super::node_taints::ToldTaints;
use super::setup::Sabotage;
use super::shown::Shown;

/// The kinds that a scheduler follows with these features, in the order of its streams: those that a live one follows.
pub(crate) fn followed(gates: Gates) -> impl Iterator<Item = &'static str> {
    followed::followed(gates).map(|row| row.kind)
}

/// The kind of a stream.
pub(crate) fn kind_of(stream: usize, gates: Gates) -> &'static str {
    followed(gates).nth(stream).expect("a stream is one of those that are followed")
}

/// How many steps a search for devices on one node may take.
const STEPS_MAX: u64 = 100_000;

/// More than one at once, so that verdicts meet facts that other verdicts have made.
const CONSIDERATIONS_MAX: usize = 2;

/// An engine that knows nothing yet, and does so much work at once for a pod or gang.
pub(crate) fn engine(name: &str, gates: Gates, slice_max: Option<u64>) -> Engine {
    let engine = Engine::new(Settings {
        profiles: vec![Arc::new(Profile::named(name))],
        gates,
        patience: Patience::default(),
        search_steps_max: STEPS_MAX,
    });
    match slice_max {
        Some(nanos) => engine.with_slice_max(nanos).with_considerations_max(CONSIDERATIONS_MAX),
        None => engine,
    }
}

/// Something that happened to an object.
#[derive(Clone, Debug)]
pub(crate) enum News {
    /// It is there as it is.
    Applied(Arc<Shown>),
    /// It is gone, and was like this.
    Gone(Arc<Shown>),
}

impl News {
    /// What it means to an engine.
    pub fn fact(&self) -> Option<Change> {
        match self {
            News::Applied(object) => object.applied(),
            News::Gone(object) => object.gone(),
        }
    }

    /// What a recording has of it.
    pub fn origin(&self, is_listed: bool) -> Option<FactOrigin> {
        match self {
            News::Applied(shown) => {
                let revision = text(&shown["metadata"]["resourceVersion"]).parse().unwrap_or_default();
                let object = RecordedObject::of_value(shown)?;
                Some(match is_listed {
                    true => FactOrigin::Listed { revision, object },
                    false => FactOrigin::Applied { revision, object },
                })
            }
            News::Gone(shown) => {
                let named = |field: &str| text(&shown["metadata"][field]).to_owned();
                let (namespace, name, uid) = (named("namespace"), named("name"), named("uid"));
                Some(FactOrigin::Gone { kind: text(&shown["kind"]).to_owned(), namespace, name, uid })
            }
        }
    }
}

/// What a scheduler or a controller was told of one kind.
#[derive(Debug)]
pub(crate) struct Stream {
    pub site: Site,
    /// Which objects are told of; one that is picked no more is told to be gone.
    selection: Selection,
    /// Everything up to this revision was told.
    pub seen: u64,
    /// The objects as they were told.
    pub known: BTreeMap<Key, Arc<Shown>>,
    pub listed: bool,
    /// Something will be told without anybody asking for it.
    pub planned: bool,
    pub broken: bool,
}

impl Stream {
    pub fn new(site: Site) -> Stream {
        Stream {
            site,
            selection: Selection::default(),
            seen: 0,
            known: BTreeMap::new(),
            listed: false,
            planned: false,
            broken: false,
        }
    }

    /// The stream by which a scheduler follows a kind.
    fn followed(site: Site, row: &FollowedKind) -> Stream {
        let fields = FieldSelector::parse(site.kind, row.fields).expect("a live scheduler asks for these");
        Stream { selection: Selection { fields, ..Selection::default() }, ..Stream::new(site) }
    }

    /// What happened next, at most so many changes.
    pub fn news(&mut self, api: &Api, most: usize) -> Vec<News> {
        let mut news = Vec::new();
        for event in api.events_after(self.site, self.seen, most) {
            self.seen = event.revision();
            let object = api.shown(&event.object);
            let is_picked = self.selection.picks(&event.key, &event.object);
            if event.change == store::Change::Deleted || !is_picked {
                let was_known = self.known.remove(&event.key).is_some();
                news.extend((was_known || is_picked).then_some(News::Gone(object)));
            } else {
                self.known.insert(event.key.clone(), object.clone());
                news.push(News::Applied(object));
            }
        }
        news
    }

    /// Everything that there is: what went since is told first, then what is new or has changed.
    pub fn everything(&mut self, api: &Api) -> Vec<News> {
        let listed: BTreeMap<Key, Arc<Shown>> = api.select(self.site, &self.selection).into_iter().collect();
        let mut news = Vec::new();
        let before = std::mem::take(&mut self.known);
        for (key, old) in &before {
            let is_same = |new: &Arc<Shown>| new["metadata"]["uid"] == old["metadata"]["uid"];
            if !listed.get(key).is_some_and(is_same) {
                news.push(News::Gone(old.clone()));
            }
        }
        for (key, new) in &listed {
            if before.get(key).is_none_or(|old| !Arc::ptr_eq(old, new)) {
                news.push(News::Applied(new.clone()));
            }
        }
        self.known = listed;
        self.seen = api.revision();
        (self.listed, self.broken) = (true, false);
        news
    }

    /// Everything up to a revision was told.
    pub fn has_seen(&self, api: &Api, revision: u64) -> bool {
        let next = api.events_after(self.site, self.seen, 1);
        self.listed && next.first().is_none_or(|event| event.revision() > revision)
    }
}

/// A scheduler.
#[derive(Debug)]
pub(crate) struct Replica {
    /// The name that pods ask for.
    pub name: &'static str,
    pub engine: Engine,
    /// How much work it does at once for a pod or gang.
    slice_max: Option<u64>,
    /// What it considers while it does other things.
    pub considering: BTreeMap<ConsiderationId, Box<Consideration>>,
    pub streams: Vec<Stream>,
    /// What it was told of the taints of nodes.
    pub told_taints: ToldTaints,
    /// Counts its starts; what was planned for an earlier life does not happen.
    pub life: u32,
    pub alive: bool,
    pub leads: bool,
    /// It may not decide before it has seen everything up to here.
    pub reach: u64,
    pub turn_planned: bool,
    /// The earliest time at which it will be woken.
    pub wake_planned: Option<i64>,
    /// What it was told and did, if that is recorded.
    pub recording: Option<Vec<Line>>,
}

impl Replica {
    pub fn new(name: &'static str, slice_max: Option<u64>, api: &Api, leads: bool) -> Replica {
        Replica {
            name,
            engine: engine(name, api.gates(), slice_max),
            slice_max,
            considering: BTreeMap::new(),
            streams: streams(api),
            told_taints: ToldTaints::new(),
            life: 0,
            alive: true,
            leads,
            reach: 0,
            turn_planned: false,
            wake_planned: None,
            recording: None,
        }
    }

    /// Notes in its recording, if it has one, that it starts.
    pub fn record_start(&mut self, number: u64, now: Timestamp, gates: Gates) {
        let Some(lines) = &mut self.recording else { return };
        let settings = StartSettings::Plain { profile: self.name.to_owned(), search_steps_max: STEPS_MAX };
        let start = EngineStart::new(now, number, gates, settings);
        let considerations_max = if self.slice_max.is_some() { CONSIDERATIONS_MAX } else { 1 };
        lines.push(Line::Start(EngineStart { considerations_max, slice_max: self.slice_max, ..start }));
    }

    /// Starts again with nothing.
    pub fn restart(&mut self, gates: Gates, api: &Api) {
        self.engine = engine(self.name, gates, self.slice_max);
        self.considering.clear();
        self.streams = streams(api);
        self.told_taints.clear();
        self.alive = true;
        (self.turn_planned, self.wake_planned) = (false, None);
    }

    /// Tells the engine something, and records that with what it does.
    pub fn handle(&mut self, now: Timestamp, input: Input, origin: Option<FactOrigin>) -> Vec<Effect> {
        let Some(lines) = &mut self.recording else { return self.engine.handle(now, input) };
        let told = origin.map(RecordedInput::Fact).or_else(|| RecordedInput::of(&input));
        let told = told.expect("facts are told with what they come from");
        let effects = self.engine.handle(now, input);
        let did = effects.iter().map(|effect| RecordedEffect::of(effect.into())).collect();
        lines.push(Line::Input { at: now.micros(), told, did });
        effects
    }

    /// Whether it may decide: it leads, and has seen what was there when it began to.
    pub fn may_decide(&self, api: &Api, sabotage: Sabotage) -> bool {
        let caught_up = |stream: &Stream| match sabotage {
            Sabotage::LeadsBlindly | Sabotage::DeafToClaims => stream.listed,
            _ => stream.has_seen(api, self.reach),
        };
        self.alive && self.leads && self.streams.iter().all(caught_up)
    }
}

fn streams(api: &Api) -> Vec<Stream> {
    followed::followed(api.gates()).map(|row| Stream::followed(api.site(row.kind), row)).collect()
}

/// Everything that a scheduler is told when it starts.
pub(crate) fn everything(api: &Api) -> Vec<Change> {
    let mut streams = streams(api);
    let news = streams.iter_mut().flat_map(|stream| stream.everything(api));
    news.filter_map(|one| one.fact()).map(Change::listed).collect()
}
