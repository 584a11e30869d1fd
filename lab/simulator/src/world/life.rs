//! The complete life of a claim, once: from its template or its making, by way of a pod that runs and ends, until nothing of
//! it is left. One component may die at one step of it.
//!
//! Invariant: until somebody dies, the life of a kind is the same every time, so that a step can be told by its number.

use std::fmt;
use std::str::FromStr;

use serde_json::{Value, json};

use super::api::{Api, named, text};
use super::component::{Component, Crash, Moment};
use super::setup::{Sabotage, WorldSetup};
use super::{CLOSE_MS, Happening, World, lent, workload};

/// How long the containers of a pod run.
pub(super) const RUN_MS: i64 = 1_000;

/// How often somebody looks whether the pods have done their work.
const VISIT_MS: i64 = 500;

/// How long a life may take, crash and all.
const LIFE_MS_MAX: i64 = 60_000;

/// How long it takes until everybody has heard that everything is gone.
const NEWS_MS: i64 = 2_000;

/// How a pod comes by its claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It is made for the pod from a template.
    Template,
    /// Somebody makes it, and two pods name it.
    Shared,
    /// The pod asks for a resource that devices stand for.
    Extended,
    /// It is made for the pod from a template, and its device has to be made ready once it is chosen.
    Readied,
    /// It is made for the pod from a template, and its driver gives it devices.
    Lent,
    /// The same with one of each of two drivers, and one that the scheduler gives a device.
    LentMany,
    /// Somebody makes it, two pods name it, and its driver gives it devices.
    LentShared,
    /// Somebody makes it, and its driver gives it devices whoever uses it.
    LentAtOnce,
    /// The same as [`Kind::Lent`] for each of two pods that are placed together.
    LentGang,
}

impl Kind {
    /// Every one.
    pub const ALL: [Kind; 9] = [
        Kind::Template,
        Kind::Shared,
        Kind::Extended,
        Kind::Readied,
        Kind::Lent,
        Kind::LentMany,
        Kind::LentShared,
        Kind::LentAtOnce,
        Kind::LentGang,
    ];

    /// Whether a driver's own controller gives the devices.
    pub(super) fn is_lent(self) -> bool {
        use Kind::{Extended, Lent, LentAtOnce, LentGang, LentMany, LentShared, Readied, Shared, Template};
        match self {
            Template | Shared | Extended | Readied => false,
            Lent | LentMany | LentShared | LentAtOnce | LentGang => true,
        }
    }

    /// Who may die in a life of this kind. What nodes do is the same whoever gave the devices.
    pub fn cast(self) -> impl Iterator<Item = Component> {
        let is_of_it = move |component: &Component| match component {
            Component::Scheduler | Component::Controller => true,
            Component::Node | Component::Driver => !self.is_lent(),
            Component::Lender => self.is_lent(),
        };
        Component::ALL.into_iter().filter(is_of_it)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Kind::Template => "template",
            Kind::Shared => "shared",
            Kind::Extended => "extended",
            Kind::Readied => "readied",
            Kind::Lent => "lent",
            Kind::LentMany => "lent-many",
            Kind::LentShared => "lent-shared",
            Kind::LentAtOnce => "lent-at-once",
            Kind::LentGang => "lent-gang",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Kind, String> {
        let names = || Kind::ALL.map(|kind| kind.to_string()).join(", ");
        let mut all = Kind::ALL.into_iter();
        all.find(|kind| kind.to_string() == text).ok_or_else(|| format!("lives are {}", names()))
    }
}

/// A life that is lived, and what was done in it.
#[derive(Clone, Debug)]
pub(super) struct Life {
    crash: Option<Crash>,
    steps: Vec<(Component, String)>,
    is_leaving: bool,
    /// What the API had written when the pods were looked at the last time.
    visited: u64,
}

impl Life {
    /// Takes note of a step, and says who dies at it.
    pub(super) fn note(&mut self, by: Component, what: &str) -> Option<Crash> {
        let step = self.steps.len();
        self.steps.push((by, what.to_owned()));
        self.crash.filter(|crash| crash.step == step)
    }
}

/// What came of a life.
#[derive(Clone, Debug)]
pub struct LifeReport {
    /// What was done, and by whom, in order.
    pub steps: Vec<(Component, String)>,
    /// What was wrong, the first first. Nothing, if all is well.
    pub violations: Vec<String>,
    /// The history, if it was asked for.
    pub lines: Vec<String>,
}

/// Lives a life.
#[must_use]
pub fn live(kind: Kind, crash: Option<Crash>, sabotage: Sabotage, keep_lines: bool) -> LifeReport {
    let mut setup = WorldSetup::quiet(sabotage);
    (setup.readied, setup.gangs) = (kind == Kind::Readied, kind == Kind::LentGang);
    let mut world = World::with_gates(0, setup, lent::gates(kind), keep_lines);
    world.life = Some(Life { crash, steps: Vec::new(), is_leaving: false, visited: 0 });
    if kind.is_lent() {
        let market = lent::market(kind);
        world.begin(|api, setup, _| lent::furnish(api, setup, kind, &market));
        world.market = Some(market);
        world.agenda.after(VISIT_MS, Happening::Bargain);
    } else {
        world.begin(|api, setup, _| furnish(api, setup, kind));
    }
    world.agenda.after(VISIT_MS, Happening::Visit);
    world.end = Some(LIFE_MS_MAX);
    world.go_on();
    if world.violations.is_empty() {
        world.check_nothing_left();
    }
    let steps = world.life.take().map(|life| life.steps).unwrap_or_default();
    let report = world.report();
    LifeReport { steps, violations: report.violations, lines: report.lines }
}

/// Every way to die once in a life of a kind that has so many steps.
pub fn crashes(kind: Kind, steps: usize) -> impl Iterator<Item = Crash> {
    let moments = |component| Moment::ALL.map(move |moment| (component, moment));
    (0..steps).flat_map(move |step| {
        let who = kind.cast().flat_map(moments);
        who.map(move |(component, moment)| Crash { component, step, moment })
    })
}

/// The command that lives a life again, with its history.
#[must_use]
pub fn relive_command(kind: Kind, crash: Option<Crash>) -> String {
    let crash = crash.map(|crash| format!(" --crash {crash}")).unwrap_or_default();
    format!("cargo run -p simulator -- --life {kind}{crash} --trace")
}

/// One node with two devices, and pods with their claim.
fn furnish(api: &mut Api, setup: &WorldSetup, kind: Kind) {
    workload::furnish_basics(api, setup);
    workload::add_machine(api, setup, "node-0", 2);
    let claims = match kind {
        Kind::Shared => json!([{ "name": "gpu", "resourceClaimName": "shared" }]),
        Kind::Extended => json!([]),
        _ => json!([{ "name": "gpu", "resourceClaimTemplateName": "one" }]),
    };
    if kind == Kind::Shared {
        let mut claim = named("resource.k8s.io/v1", "ResourceClaim", "shared");
        claim["spec"] = workload::claim_spec(setup, 1);
        must(api.create(&claim));
    }
    let names: &[&str] = if kind == Kind::Shared { &["first", "second"] } else { &["only"] };
    for name in names {
        let mut pod = named("v1", "Pod", name);
        let mut container = json!({ "name": "c", "image": "i" });
        if kind == Kind::Extended {
            container["resources"]["limits"] = json!({ workload::RESOURCE: "1" });
        }
        pod["spec"] = json!({
            "schedulerName": workload::SCHEDULERS[0], "restartPolicy": "Never",
            "containers": [container], "resourceClaims": claims,
        });
        must(api.create(&pod));
    }
}

pub(super) fn must<T, E: fmt::Debug>(made: Result<T, E>) -> T {
    made.expect("what a life is made of can be admitted")
}

impl World {
    /// Whoever made the pods looks at them: when all have done their work, and nothing more comes of that for a while, they may
    /// go, with what was made for them.
    pub(super) fn visit(&mut self) {
        self.agenda.after(VISIT_MS, Happening::Visit);
        let pods = self.api.list("Pod");
        let is_over = |pod: &Value| text(&pod["status"]["phase"]) == "Succeeded";
        let is_leaving = self.life.as_ref().is_some_and(|life| life.is_leaving);
        let revision = self.api.revision();
        let visited = self.life.as_mut().map(|life| std::mem::replace(&mut life.visited, revision));
        if !is_leaving
            && visited == Some(revision)
            && pods.iter().all(|(_, pod)| is_over(pod))
            && self.has_let_go()
        {
            if let Some(life) = &mut self.life {
                life.is_leaving = true;
            }
            let claim = ("ResourceClaim", "default".to_owned(), "shared".to_owned());
            let pods = pods.iter().map(|(key, _)| ("Pod", key.namespace.to_string(), key.name.to_string()));
            for (kind, namespace, name) in pods.chain([claim]) {
                let _ = self.api.delete(kind, (&namespace, &name), None, None);
            }
            self.end = self.end.max(Some(self.agenda.now() + CLOSE_MS));
        }
        let is_empty = pods.is_empty() && self.api.list("ResourceClaim").is_empty() && self.has_let_go();
        // Who is down has yet to come back and look.
        let all_are_up = self.replicas.iter().all(|replica| replica.alive);
        if is_leaving && is_empty && all_are_up && self.keeper.down_until <= self.agenda.now() {
            self.end = self.end.min(Some(self.agenda.now() + NEWS_MS));
        }
    }
}
