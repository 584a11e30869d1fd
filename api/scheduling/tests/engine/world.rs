//! An engine, its writes on their way, and a server: joined as a live scheduler joins them, on a clock of their own.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use decisions::profile::Profile;
use decisions::settings::{Patience, Settings};
use gates::Gates;
use model::timestamp::Timestamp;
use scheduler::engine::{Announcement, Effect, Engine, Input};
use scheduler::write::WriteId;
use scheduling::protocol::{CallOutcome, Delivery, DeliveryAction, Heard, Sources, Terms};
use scheduling::request::{ApiCall, Verb};
use serde_json::{Value, json};

use crate::server::{NAMESPACE, Server};

const START: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

/// How long a world lasts after anything is said.
const LASTS: Duration = Duration::from_secs(120);

/// What becomes of a call.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The server has too much to do.
    Busy,
    /// The server will not do it.
    Refused,
    /// It is carried out, and the answer is lost.
    LostAnswer,
    /// The same, and then another client changes something.
    LostAnswerThen(fn(&mut Server)),
    /// It never arrives.
    LostCall,
    /// No answer is heard, and it arrives when the next call is made, before that.
    LateCall,
    /// Another client is faster.
    Meddled(fn(&mut Server)),
}

/// A write on its way.
struct Open {
    id: WriteId,
    delivery: Delivery,
    heard: Heard,
}

pub struct World {
    pub server: Server,
    pub engine: Engine,
    /// It was told of an attempt that it failed.
    pub has_failed: bool,
    /// What was called and decided, for people.
    pub trace: Vec<String>,
    now: Timestamp,
    wakes_at: Option<Timestamp>,
    open: VecDeque<Open>,
    /// The watch tells of changes before anything else goes on.
    is_prompt: bool,
    struck: &'static str,
    faults: VecDeque<Fault>,
    late: Vec<ApiCall>,
}

impl World {
    /// Three nodes with a device each.
    pub fn new(is_prompt: bool) -> World {
        let settings = Settings {
            profiles: vec![Arc::new(Profile::named("supercargo"))],
            gates: Gates::default(),
            patience: Patience::default(),
            search_steps_max: 10_000,
        };
        let mut server = Server::default();
        server.put(json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": "gpu" }, "spec": {},
        }));
        for name in ["a", "b", "c"] {
            server.put(json!({
                "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "uid": name },
                "status": { "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "10" } },
            }));
            server.put(json!({
                "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": { "name": name, "uid": name },
                "spec": {
                    "driver": "gpu.example.com", "nodeName": name, "devices": [{ "name": "gpu" }],
                    "pool": { "name": name, "generation": 1, "resourceSliceCount": 1 },
                },
            }));
        }
        let mut world = World {
            server,
            engine: Engine::new(settings),
            has_failed: false,
            trace: Vec::new(),
            now: START,
            wakes_at: None,
            open: VecDeque::new(),
            is_prompt,
            struck: "",
            faults: VecDeque::new(),
            late: Vec::new(),
        };
        world.hear_news();
        world
    }

    /// Lets these happen to the next calls of this name, one to each.
    pub fn strike(&mut self, call: &'static str, faults: &[Fault]) {
        (self.struck, self.faults) = (call, faults.iter().copied().collect());
    }

    /// Whether all of it has happened, and nothing is late any more.
    pub fn has_struck(&self) -> bool {
        self.faults.is_empty() && self.late.is_empty()
    }

    /// Goes on until nothing is left to do, or for two minutes.
    pub fn settle(&mut self) {
        let end = self.now.plus_millis(i64::try_from(LASTS.as_millis()).unwrap_or(i64::MAX));
        while self.now < end {
            if (self.is_prompt || self.open.is_empty()) && !self.server.news.is_empty() {
                self.hear_news();
            } else if let Some(open) = self.open.pop_front() {
                self.go_on(open);
            } else if self.engine.wants_turn(self.now) {
                self.tell(Input::Turn { attempts: 8 });
            } else if let Some(late) = self.late.pop() {
                self.arrive(&late);
            } else if let Some(time) = self.wakes_at.filter(|time| *time > self.now) {
                self.now = time;
                self.tell(Input::Turn { attempts: 0 });
            } else {
                break;
            }
        }
        assert!(self.open.is_empty(), "writes are never over:\n{}", self.trace.join("\n"));
    }

    fn hear_news(&mut self) {
        for change in std::mem::take(&mut self.server.news) {
            self.tell(Input::Changed(change));
        }
    }

    fn tell(&mut self, input: Input) {
        self.wakes_at = None;
        for effect in self.engine.handle(self.now, input) {
            match effect {
                Effect::Submit(id, write) => {
                    let terms = Terms { seed: id.0, ..Terms::default() };
                    let delivery = Delivery::new(write, Sources::default(), terms);
                    self.open.push_back(Open { id, delivery, heard: Heard::Begun });
                }
                Effect::WakeAt(time) => self.wakes_at = Some(time),
                Effect::Announce(said) => {
                    self.has_failed |= matches!(said, Announcement::FailedScheduling { .. });
                    self.trace.push(format!("{said:?}").chars().take(160).collect());
                }
                Effect::Consider(..) => unreachable!("nothing here takes long"),
            }
        }
    }

    /// Does what comes next for a write. Writes take turns.
    fn go_on(&mut self, mut open: Open) {
        open.heard = match open.delivery.step(open.heard, self.now) {
            DeliveryAction::Call(call) => Heard::Answer(self.answer(&call)),
            DeliveryAction::Read(which) => Heard::Answer(self.server.read(&which)),
            DeliveryAction::Pause(time) => {
                self.now = self.now.plus_millis(i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
                Heard::Rested
            }
            DeliveryAction::Settled(settled) => {
                self.trace.push(format!("{}: {:?}", open.delivery.write(), settled.outcome));
                let engine = &self.engine;
                let learned = settled.changes(|id, uid| engine.knows_claim(id, uid));
                learned.into_iter().for_each(|change| self.tell(Input::Changed(change)));
                return self.tell(Input::Settled(open.id, settled.outcome));
            }
        };
        self.open.push_back(open);
    }

    fn answer(&mut self, call: &ApiCall) -> CallOutcome {
        let name = named(call);
        let is_it = name == self.struck;
        let fault = if is_it { self.faults.pop_front() } else { None };
        self.trace.push(format!("{name}, {fault:?}"));
        if is_it && let Some(late) = self.late.pop() {
            self.arrive(&late);
        }
        let lost = CallOutcome::Lost { why: "no answer".to_owned(), retry_after: None };
        match fault {
            None => self.server.perform(call, self.now),
            Some(Fault::Busy) => CallOutcome::Busy { why: "too many requests".to_owned(), retry_after: None },
            Some(Fault::Refused) => CallOutcome::Refused("forbidden".to_owned()),
            Some(Fault::LostCall) => lost,
            Some(Fault::LostAnswer) => {
                self.server.perform(call, self.now);
                lost
            }
            Some(Fault::LostAnswerThen(meddle)) => {
                self.server.perform(call, self.now);
                meddle(&mut self.server);
                lost
            }
            Some(Fault::LateCall) => {
                self.late.push(call.clone());
                lost
            }
            Some(Fault::Meddled(meddle)) => {
                meddle(&mut self.server);
                self.server.perform(call, self.now)
            }
        }
    }

    fn arrive(&mut self, late: &ApiCall) {
        let answer = self.server.perform(late, self.now);
        self.trace.push(format!("late: {}, {answer:?}", named(late)).chars().take(160).collect());
    }
}

/// A call in a few words.
fn named(call: &ApiCall) -> String {
    let verb = match call.verb {
        Verb::Create => "create",
        Verb::Update => "update",
        Verb::Patch => "patch",
        Verb::Delete => "delete",
    };
    let part = call.subresource.map(|part| format!("/{part}")).unwrap_or_default();
    format!("{verb} {}{part} {}", call.kind, call.name)
}

/// A claim for one device.
pub fn claim(name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
        "metadata": { "name": name, "namespace": NAMESPACE, "uid": uid },
        "spec": { "devices": { "requests": [{ "name": "gpu", "exactly": { "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1 } }] } },
    })
}

/// A pod that uses a claim.
pub fn pod(name: &str, claim: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": NAMESPACE, "uid": format!("uid-{name}") },
        "spec": {
            "schedulerName": "supercargo",
            "containers": [{ "name": "main", "resources": { "requests": { "cpu": "1" }, "claims": [{ "name": "its" }] } }],
            "resourceClaims": [{ "name": "its", "resourceClaimName": claim }],
        },
        "status": { "phase": "Pending" },
    })
}
