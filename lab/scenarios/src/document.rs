//! From the text of a file to scenarios.
//!
//! Invariant: behind this door a step has exactly one verb and all that belongs to it, and every gate exists and has what
//! it needs. Whatever is not understood is an error with file and line, and never left out.

use std::collections::BTreeMap;
use std::sync::Arc;

use allocation::DeviceOrder;
use gates::{GateError, Gates};
use serde_json::Value;
use serde_saphyr::Spanned;
use simulator::world::{Caretaker, Lender};

use crate::failure::{Failure, Fault};
use crate::form::{FileForm, OneOrMany, OrderForm, ScenarioForm, Settings, StepForm};
use crate::negotiation::{self, DriverTurn};

/// A scenario: what is given, and what happens.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The file as it was named to us.
    pub file: String,
    /// What it shows, in a sentence.
    pub title: String,
    /// Why it does not come out as it says yet; the scenario must fail until this is taken out.
    pub pending: Option<String>,
    pub(crate) line: u64,
    pub(crate) gates: Settings,
    pub(crate) order: DeviceOrder,
    /// How the scheduler is configured.
    pub(crate) configuration: Value,
    /// Drivers that give devices themselves, by name.
    pub(crate) drivers: BTreeMap<String, Lender>,
    pub(crate) given: Arc<[Located<Value>]>,
    pub(crate) steps: Vec<Located<Step>>,
}

impl Scenario {
    /// How many steps there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether nothing happens; no file with such a scenario is read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

/// Something with the line on which it begins.
#[derive(Clone, Debug)]
pub(crate) struct Located<T> {
    pub line: u64,
    pub value: T,
}

/// One thing that happens, or one look at what has become.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Claims of one pod are to be allocated together, for a node.
    Allocate { claims: Vec<String>, node: String, expected: Expected },
    /// A pod is to be placed, and nodes to be compared for it.
    Schedule { pod: String, expected: Placed, scores: Scores, writes: Option<usize> },
    /// Pods are to be placed in one go.
    Together { pods: Vec<String>, expected: Gathered },
    /// Pods are to be placed in one go: each on one of these nodes, or on none.
    Seats { seats: BTreeMap<String, Vec<String>>, refused: Vec<String> },
    /// A claim gives its devices back.
    Release { claim: String },
    /// A new object, or a refusal with these in its sentence.
    Create { manifest: Value, refused: Vec<String> },
    /// An object in place of the one of its name, or a refusal.
    Replace { manifest: Value, refused: Vec<String> },
    /// Parts of an object are otherwise, or a refusal.
    Patch { object: String, with: Value, refused: Vec<String> },
    /// An object is gone.
    Delete { object: String },
    /// The scheduler is started anew with these gates set otherwise.
    Gates { settings: Settings },
    /// A look at the status of a claim.
    Status { claim: String, shows: Value },
    /// Somebody says how the devices of a claim are.
    Report { claim: String, says: BTreeMap<String, bool> },
    /// A look at an object.
    Object { object: String, shows: Value },
    /// An object must not be there.
    Gone { object: String },
    /// A driver's controller has its turn.
    Driver { name: String, turn: DriverTurn },
    /// Controllers of the cluster have their turns.
    Controllers { who: Vec<Caretaker> },
    /// A pod's node would start it, or says why not.
    Start { pod: String, refused: Vec<String> },
    /// The scheduler, drivers and controllers have their turns until nothing happens any more.
    Negotiate { pods: Vec<String>, drivers: Option<Vec<String>>, expected: Gathered },
}

/// What must come of an allocation.
#[derive(Clone, Debug)]
pub(crate) enum Expected {
    /// Devices by `claim/request` or `claim/request/alternative`.
    Gives(BTreeMap<String, Vec<String>>),
    /// A refusal, with all of these in its sentence.
    Refused(Vec<String>),
}

/// What must come of a pod.
#[derive(Clone, Debug)]
pub(crate) enum Placed {
    /// It goes to this node.
    On(String),
    /// It waits, with a sentence that begins like this, or with all of these parts in it.
    Refused(Vec<String>),
    /// It stays as it is; only the scores are looked at.
    Untouched,
    /// Whatever comes of it.
    Anywhere,
}

/// What must come of pods that are placed in one go.
#[derive(Clone, Debug)]
pub(crate) enum Gathered {
    /// Each goes to one of these nodes, and each of these gets one; but these pods wait.
    On { nodes: Vec<String>, waiting: Vec<String> },
    /// All of them wait, as for one pod.
    Refused(Vec<String>),
}

/// Scores by the plugin that gives them, or `total`, and by node.
pub(crate) type Scores = BTreeMap<String, BTreeMap<String, i64>>;

/// Reads the scenarios of a file.
///
/// # Errors
/// The text is no YAML, or says something that is not understood.
pub fn read(file: &str, text: &str) -> Result<Vec<Scenario>, Failure> {
    let failure = |line: u64, what: String| Failure {
        file: file.to_owned(),
        line,
        scenario: None,
        step: None,
        fault: Fault::Scenario,
        what,
    };
    let options = serde_saphyr::options! { legacy_octal_numbers: true, with_snippet: false };
    let form: FileForm = serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        failure(error.location().map_or(0, |location| location.line()), error.to_string())
    })?;
    let FileForm { title, pending, gates, order, configuration, drivers, given, steps, scenarios } = form;
    let drivers: BTreeMap<String, Lender> =
        drivers.into_iter().map(|(name, form)| (name.clone(), negotiation::lender(name, form))).collect();
    let configuration = configuration.unwrap_or_else(|| Value::Object(Default::default()));
    let given: Arc<[_]> =
        copied(given.into_iter().map(located)).map_err(|(line, what)| failure(line, what))?;
    let scenarios = match (steps, scenarios) {
        (Some(steps), None) => {
            let (pending, gates) = (pending.clone(), Settings::new());
            let value = ScenarioForm { title, pending, gates, order: None, configuration: None, steps };
            vec![Located { line: 1, value }]
        }
        (None, Some(scenarios)) => scenarios.into_iter().map(located).collect(),
        (_, _) => return Err(failure(1, "a file has either steps or scenarios".to_owned())),
    };
    if scenarios.is_empty() {
        return Err(failure(1, "there is no scenario".to_owned()));
    }
    let mut read = Vec::new();
    for Located { line, value: form } in scenarios {
        if form.steps.is_empty() {
            return Err(failure(line, "a scenario without steps".to_owned()));
        }
        let mut steps = Vec::new();
        for Located { line, value } in form.steps.into_iter().map(located) {
            let value = step(value).map_err(|what| failure(line, what))?;
            steps.push(Located { line, value });
        }
        let mut settings = gates.clone();
        settings.extend(form.gates);
        parse_gates(&settings).map_err(|error| failure(line, error.to_string()))?;
        let order = match form.order.or(order) {
            None | Some(OrderForm::PreferReady) => DeviceOrder::PreferReady,
            Some(OrderForm::Upstream) => DeviceOrder::Upstream,
        };
        read.push(Scenario {
            file: file.to_owned(),
            title: form.title,
            pending: form.pending.or_else(|| pending.clone()),
            line,
            gates: settings,
            order,
            configuration: form.configuration.unwrap_or_else(|| configuration.clone()),
            drivers: drivers.clone(),
            given: given.clone(),
            steps,
        });
    }
    Ok(read)
}

/// The gates that are on with these settings.
pub(crate) fn parse_gates(settings: &Settings) -> Result<Gates, GateError> {
    let items: Vec<_> = settings.iter().map(|(name, on)| format!("{name}={on}")).collect();
    items.join(",").parse()
}

/// What is given, with objects that are there many times written out: each `#` in their texts is a number.
fn copied(given: impl Iterator<Item = Located<Value>>) -> Result<Arc<[Located<Value>]>, (u64, String)> {
    let mut all = Vec::new();
    for Located { line, value } in given {
        let Some(copies) = value.get("copies") else {
            all.push(Located { line, value });
            continue;
        };
        let (Some(copies), Some(object)) = (copies.as_u64(), value.get("of")) else {
            return Err((line, "`copies` is a number, with `of` and an object".to_owned()));
        };
        all.extend((1..=copies).map(|number| Located { line, value: numbered(object, number) }));
    }
    Ok(all.into())
}

fn numbered(value: &Value, number: u64) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace('#', &number.to_string())),
        Value::Array(all) => all.iter().map(|one| numbered(one, number)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), numbered(value, number))).collect()
        }
        other => other.clone(),
    }
}

fn located<T>(spanned: Spanned<T>) -> Located<T> {
    Located { line: spanned.referenced.line(), value: spanned.value }
}

fn step(form: StepForm) -> Result<Step, String> {
    check_verb(&form)?;
    read_step(form)
}

/// A step has exactly one verb, and only what belongs to it.
fn check_verb(form: &StepForm) -> Result<(), String> {
    let verbs = [
        ("allocate", form.allocate.is_some()),
        ("schedule", form.schedule.is_some()),
        ("together", form.together.is_some()),
        ("seats", form.seats.is_some()),
        ("release", form.release.is_some()),
        ("create", form.create.is_some()),
        ("replace", form.replace.is_some()),
        ("delete", form.delete.is_some()),
        ("gates", form.gates.is_some()),
        ("status", form.status.is_some()),
        ("report", form.report.is_some()),
        ("driver", form.driver.is_some()),
        ("negotiate", form.negotiate.is_some()),
        ("controllers", form.controllers.is_some()),
        ("start", form.start.is_some()),
        ("object", form.object.is_some()),
        ("gone", form.gone.is_some()),
        ("patch", form.patch.is_some()),
    ];
    let used: Vec<_> = verbs.iter().filter(|(_, used)| *used).map(|(verb, _)| *verb).collect();
    let [verb] = used.as_slice() else {
        let known: Vec<_> = verbs.iter().map(|(verb, _)| *verb).collect();
        let found = if used.is_empty() { "nothing".to_owned() } else { used.join(" and ") };
        return Err(format!(
            "a step does one thing, and this does {found}; hint: use one of {}",
            known.join(", ")
        ));
    };
    let placing = ["allocate", "schedule", "together", "negotiate"].as_slice();
    let refusing = ["seats", "create", "replace", "patch", "driver", "start"];
    let refusing: Vec<&str> = placing.iter().copied().chain(refusing).collect();
    for (key, owners, used) in [
        ("on", placing, form.on.is_some()),
        ("gives", &["allocate"], form.gives.is_some()),
        ("refused", &refusing, form.refused.is_some()),
        ("scores", &["schedule"], form.scores.is_some()),
        ("waiting", &["together"], form.waiting.is_some()),
        ("shows", &["status", "object"], form.shows.is_some()),
        ("says", &["report"], form.says.is_some()),
        ("has", &["driver"], form.has.is_some()),
        ("blind", &["driver"], form.blind.is_some()),
        ("elsewhere", &["driver"], form.elsewhere.is_some()),
        ("writes", &["driver", "schedule"], form.writes.is_some()),
        ("drivers", &["negotiate"], form.drivers.is_some()),
        ("with", &["patch"], form.with.is_some()),
    ] {
        if used && !owners.contains(verb) {
            return Err(format!(
                "`{key}` belongs to `{}`, and this step does {verb}",
                owners.join("` and `")
            ));
        }
    }
    Ok(())
}

/// A step that has one verb.
fn read_step(form: StepForm) -> Result<Step, String> {
    if negotiation::is_about(&form) {
        return negotiation::read(form);
    }
    if let Some(OneOrMany(claims)) = form.allocate {
        let node = one_node(form.on)?.ok_or("`allocate` needs `on`, with the name of a node")?;
        let expected = expected(form.gives, form.refused)?;
        return Ok(Step::Allocate { claims, node, expected });
    }
    if let Some(pod) = form.schedule {
        let scores = form.scores.unwrap_or_default();
        let expected = match (one_node(form.on)?, form.refused) {
            (Some(node), None) => Placed::On(node),
            (None, Some(OneOrMany(parts))) if parts.iter().all(|one| !one.trim().is_empty()) => {
                Placed::Refused(parts)
            }
            (None, None) if !scores.is_empty() => Placed::Untouched,
            (None, None) if form.writes.is_some() => Placed::Anywhere,
            (_, _) => {
                return Err("`schedule` needs either `on` or `refused`, or `scores` or `writes`".to_owned());
            }
        };
        return Ok(Step::Schedule { pod, expected, scores, writes: form.writes });
    }
    if let Some(pods) = form.together {
        let expected = gathered("together", form.on, form.waiting, form.refused)?;
        return Ok(Step::Together { pods, expected });
    }
    if let Some(seats) = form.seats {
        let many = |list: Option<OneOrMany<String>>| list.map(|OneOrMany(list)| list).unwrap_or_default();
        let refused = many(form.refused);
        let seats: BTreeMap<String, Vec<String>> =
            seats.into_iter().map(|(pod, on)| (pod, many(on))).collect();
        if !refused.is_empty() && seats.values().all(|nodes| !nodes.is_empty()) {
            return Err("`refused` is about pods without a node, and `seats` names none".to_owned());
        }
        return Ok(Step::Seats { seats, refused });
    }
    if let Some(claim) = form.status {
        let shows = form.shows.ok_or("`status` needs `shows`, with what must be in it")?;
        return Ok(Step::Status { claim, shows });
    }
    if let Some(claim) = form.report {
        let says = form.says.ok_or("`report` needs `says`, with conditions and whether they hold")?;
        return Ok(Step::Report { claim, says });
    }
    let refused = form.refused.map(|OneOrMany(parts)| parts).unwrap_or_default();
    let others = [
        form.release.map(|claim| Step::Release { claim }),
        form.create.map(|manifest| Step::Create { manifest, refused: refused.clone() }),
        form.replace.map(|manifest| Step::Replace { manifest, refused: refused.clone() }),
        form.delete.map(|object| Step::Delete { object }),
        form.gates.map(|settings| Step::Gates { settings }),
    ];
    Ok(others.into_iter().flatten().next().expect("a step with one verb is one of these"))
}

pub(crate) fn gathered(
    verb: &str,
    on: Option<OneOrMany<String>>,
    waiting: Option<Vec<String>>,
    refused: Option<OneOrMany<String>>,
) -> Result<Gathered, String> {
    match (on, refused) {
        (Some(OneOrMany(nodes)), None) => Ok(Gathered::On { nodes, waiting: waiting.unwrap_or_default() }),
        (None, Some(OneOrMany(parts))) if parts.iter().all(|one| !one.trim().is_empty()) => {
            Ok(Gathered::Refused(parts))
        }
        (_, _) => Err(format!("`{verb}` needs either `on` or `refused`")),
    }
}

fn one_node(on: Option<OneOrMany<String>>) -> Result<Option<String>, String> {
    let Some(OneOrMany(nodes)) = on else { return Ok(None) };
    let [node] = <[String; 1]>::try_from(nodes).map_err(|_| "`on` names one node here".to_owned())?;
    Ok(Some(node))
}

fn expected(
    gives: Option<BTreeMap<String, OneOrMany<String>>>,
    refused: Option<OneOrMany<String>>,
) -> Result<Expected, String> {
    match (gives, refused) {
        (Some(gives), None) => Ok(Expected::Gives(
            gives.into_iter().map(|(request, OneOrMany(devices))| (request, devices)).collect(),
        )),
        (None, Some(OneOrMany(fragments))) if fragments.iter().all(|one| !one.trim().is_empty()) => {
            Ok(Expected::Refused(fragments))
        }
        (None, Some(_)) => Err("`refused` says why, with a part of the sentence".to_owned()),
        (_, _) => Err("`allocate` needs either `gives` or `refused`".to_owned()),
    }
}

impl Step {
    /// What it does, in a few words.
    pub(crate) fn told(&self) -> String {
        match self {
            Step::Allocate { claims, node, .. } => format!("allocate {} on {node}", claims.join(" and ")),
            Step::Schedule { pod, .. } => format!("schedule {pod}"),
            Step::Together { pods, .. } => format!("place {} together", pods.join(", ")),
            Step::Seats { seats, .. } => {
                let pods: Vec<_> = seats.keys().map(String::as_str).collect();
                format!("seats for {}", pods.join(", "))
            }
            Step::Release { claim } => format!("release {claim}"),
            Step::Create { manifest, .. } => format!("create {}", name_of(manifest)),
            Step::Replace { manifest, .. } => format!("replace {}", name_of(manifest)),
            Step::Patch { object, .. } => format!("patch {object}"),
            Step::Delete { object } => format!("delete {object}"),
            Step::Gates { settings } => {
                let settings: Vec<_> = settings.iter().map(|(name, on)| format!("{name}={on}")).collect();
                format!("gates {}", settings.join(","))
            }
            Step::Status { claim, .. } => format!("status {claim}"),
            Step::Report { claim, .. } => format!("report {claim}"),
            Step::Object { object, .. } => format!("object {object}"),
            Step::Gone { object } => format!("gone {object}"),
            Step::Driver { name, .. } => format!("driver {name}"),
            Step::Controllers { .. } => "controllers".to_owned(),
            Step::Start { pod, .. } => format!("start {pod}"),
            Step::Negotiate { pods, .. } => format!("negotiate about {}", pods.join(", ")),
        }
    }
}

fn name_of(manifest: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{}/{}", text(&manifest["kind"]), text(&manifest["metadata"]["name"]))
}
