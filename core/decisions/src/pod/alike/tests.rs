//! Kept answers are those of looking at all nodes anew, on random clusters with every kind of rule about pods.

use std::collections::BTreeSet;
use std::sync::Arc;

use cluster::claims::ClaimState;
use cluster::contexts::PodContext;
use cluster::facts::Facts;
use gates::{Gate, Gates};
use model::claim::{Amount, Ask, Claim, ClaimControl, ClaimId, ClaimSpec, Class, Control, Request, Wish};
use model::identity::NodeName;
use model::node::{Node, NodeSelector, NodeTerm, Operator, Requirement};
use model::pod::{
    ClaimSource, LabelSelector, Owner, OwnerKind, Pod, PodClaim, PodTerm, Resources, Shape, Spread,
};
use model::timestamp::Timestamp;

use crate::cycle::{Caches, Cycle};
use crate::plans::Plans;
use crate::profile::Profile;
use crate::sample::{labels, pod, selector, shape, spread, taint, term};
use crate::settings::{Patience, Settings};
use crate::underway::{Tie, Underway};

struct NothingUnderway;

impl Underway for NothingUnderway {
    fn is_on_its_way(&self, _: &str) -> bool {
        false
    }

    fn is_being_reserved(&self, _: &ClaimId, _: Option<&str>) -> bool {
        false
    }

    fn reserving(&self, _: &ClaimId) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn is_given_up(&self, _: &ClaimId) -> bool {
        false
    }

    fn tie(&self, _: &str) -> Tie {
        Tie::None
    }
}

struct Story {
    dice: u64,
    facts: Facts,
    caches: Caches,
    settings: Settings,
    nodes: u64,
    pods: u64,
    /// How often kept answers gave a node.
    kept: usize,
    plans: Plans,
    /// Whether drivers are asked about pods.
    negotiates: bool,
}

const KEYS: [&str; 3] = ["zone", "rack", "kubernetes.io/hostname"];

impl Story {
    fn new(seed: u64, profile: Profile) -> Story {
        let settings = Settings {
            profiles: vec![Arc::new(Profile { name: "".into(), ..profile })],
            gates: Gates::default(),
            patience: Patience::default(),
            search_steps_max: 1_000,
        };
        let mut story = Story {
            dice: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            facts: Facts::new(Gates::default()),
            caches: Caches::default(),
            settings,
            // Few enough for tiers of single nodes, or too many.
            nodes: [6, 20, 45, 90][(seed % 4) as usize],
            pods: 0,
            kept: 0,
            plans: Plans::default(),
            negotiates: false,
        };
        (0..story.nodes).for_each(|number| story.node(number));
        for app in 0..3 {
            let web = labels(&format!("app=a{app}"));
            if story.below(2) == 0 {
                Arc::make_mut(&mut story.facts.companions).apply_service(
                    "ns".into(),
                    format!("s{app}").into(),
                    web,
                );
            } else {
                let owner = Owner { kind: OwnerKind::ReplicaSet, name: format!("r{app}").into() };
                let picked = selector(&format!("app=a{app}"));
                Arc::make_mut(&mut story.facts.companions).apply_owner("ns".into(), owner, picked);
            }
        }
        story
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.dice = self.dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.dice >> 33) % bound
    }

    fn node(&mut self, number: u64) {
        let mut text = format!("kubernetes.io/hostname=n{number} ");
        if self.below(12) > 0 {
            text += &format!("zone=z{} ", number % 3);
        }
        if self.below(12) > 0 {
            text += &format!("rack=r{} ", number / 2);
        }
        if self.below(20) == 0 {
            text = text.replace(&format!("=n{number}"), "=same");
        }
        let allocatable = Resources { cpu_milli: 1_000 * (2 + self.below(3) as i64), ..Resources::default() };
        let name: NodeName = format!("n{number}").as_str().into();
        let mut node = Node { name, labels: labels(&text), allocatable, pods_max: 8, ..Node::default() };
        match self.below(10) {
            0 => node.taints.push(taint("k=v:PreferNoSchedule")),
            1 => node.taints.push(taint("k=v:NoSchedule")),
            2 => node.unschedulable = true,
            _ => {}
        }
        self.facts.apply_node(node);
    }

    fn key(&mut self) -> &'static str {
        KEYS[self.below(3) as usize]
    }

    fn app(&mut self) -> String {
        format!("app=a{}", self.below(4))
    }

    fn term(&mut self) -> PodTerm {
        let (app, key) = (self.app(), self.key());
        let mut term = term(&app, key);
        match self.below(5) {
            0 => term.selector = exists("app"),
            1 => term.namespace_selector = Some(selector("team=x")),
            _ => {}
        }
        term
    }

    fn rule(&mut self) -> Spread {
        let (app, key) = (self.app(), self.key());
        let honor_taints = self.below(2) == 0;
        let min_domains = 1 + self.below(3) as i32;
        let rule = spread(1 + self.below(2) as i32, key, &app);
        Spread { required: self.below(2) == 0, honor_taints, min_domains, ..rule }
    }

    /// What pods of a kind that people make look like.
    fn shape(&mut self) -> Shape {
        let app = self.below(4);
        let mut shape = shape(&format!("app=a{app}"));
        shape.requests.cpu_milli = 200 * (1 + self.below(2) as i64);
        shape.scored = shape.requests.clone();
        if self.below(3) > 0 {
            shape.owner = Some(Owner { kind: OwnerKind::ReplicaSet, name: format!("r{app}").into() });
        }
        for _ in 0..self.below(3) {
            match self.below(6) {
                0 => shape.near.push(self.term()),
                1 => shape.apart.push(self.term()),
                2 => {
                    let weight = [5, 50, -20][self.below(3) as usize];
                    let term = self.term();
                    shape.preferred_pods.push((weight, term));
                }
                3 | 4 => shape.spread.push(self.rule()),
                _ => {
                    let requirement =
                        Requirement { key: "rack".into(), operator: Operator::Exists, values: Vec::new() };
                    let term = NodeTerm { fields: Vec::new(), labels: vec![requirement] };
                    shape.preferred_nodes.push((7, term));
                }
            }
        }
        shape
    }

    /// A pod comes; what is kept must say the same of it as looking anew. Then it is put where that is.
    fn come(&mut self, shape: Shape) {
        let name = format!("p{}", self.pods);
        self.pods += 1;
        let new = Pod { node: None, ..pod(&name, "", shape) };
        let plans = Plans::default();
        let under_way = (&plans, &NothingUnderway as &dyn Underway);
        let now = Timestamp::from_micros(0);
        let mut cycle = Cycle::new(&self.settings, &mut self.facts, under_way, &mut self.caches, now);
        let profile = cycle.settings.profile_of(&new);
        let claims = cycle.claims_of(&new, &profile).expect("it has no claims");
        assert!(cycle.is_alike_to_others(&new, &claims, &profile));
        let anew = cycle.choose_anew(&new, &claims, &profile).map(|choice| choice.node);
        let kept = cycle.choose_alike(&new, &claims, &profile);
        let whole = cycle.choose(&new).map(|choice| choice.node);
        drop(cycle);
        let kept = kept.ok().flatten().map(|choice| choice.node);
        self.kept += usize::from(kept.is_some());
        let told = |node: &NodeName| node.to_string();
        let anew_node = anew.as_ref().ok().map(told);
        if let Some(kept) = &kept {
            assert_eq!(Some(told(kept)), anew_node, "{name} of shape {:?}", new.shape);
        }
        assert_eq!(whole.as_ref().ok().map(told), anew_node, "{name}");
        if let (Err(whole), Err(anew)) = (&whole, &anew) {
            assert_eq!(whole.to_string(), anew.to_string(), "{name}: the same reason");
        }
        if let Ok(node) = anew {
            self.facts.put_pod(Arc::new(Pod { node: Some(node), ..new }));
        }
    }

    /// A pod comes with a claim that a driver is to give something; what is kept must say the same of all nodes as looking anew. Then
    /// one of them is chosen for it, or it is put there.
    fn ask(&mut self, shape: Shape) {
        let name = format!("p{}", self.pods);
        self.pods += 1;
        let claim = lent(&name);
        let source = ClaimSource::Named(claim.wish.id.name.clone());
        let new = Pod {
            node: None,
            claims: vec![PodClaim { name: "lent".into(), source }],
            ..pod(&name, "", shape)
        };
        self.facts.claims.apply(claim);
        let class = ["anywhere", "racks"][self.below(2) as usize];
        let control = Control { controller: "d".into(), suitable: (class == "racks").then(in_racks) };
        self.facts.apply_class(Class {
            name: "lent".into(),
            control: Some(control.into()),
            ..Class::default()
        });
        let unsuitable: BTreeSet<Arc<str>> = (0..self.nodes)
            .filter(|number| number % 3 == self.dice % 4)
            .map(|number| format!("n{number}").into())
            .collect();
        let context = PodContext {
            pod: new.id.clone(),
            uid: "c".into(),
            version: "1".into(),
            owner: new.uid.clone(),
            selected: None,
            potential: Vec::new(),
            answers: [("lent".into(), unsuitable)].into(),
        };
        self.facts.contexts.insert(new.id.clone(), context);
        self.facts.waiting.insert(new.uid.clone(), Arc::new(new.clone()));
        let (plans, now) = (self.plans.clone(), Timestamp::from_micros(0));
        let under_way = (&plans, &NothingUnderway as &dyn Underway);
        let mut cycle = Cycle::new(&self.settings, &mut self.facts, under_way, &mut self.caches, now);
        let profile = cycle.settings.profile_of(&new);
        let claims = cycle.claims_of(&new, &profile).expect("the driver may give something");
        assert_eq!(claims.pending.len(), 1);
        let anew = cycle.openings_anew(&new, &claims, &profile).map(|(best, nodes)| (best.node, nodes));
        let kept = cycle.openings_of_kind(&new, &claims, &profile).map(|(best, nodes)| (best.node, nodes));
        let whole = cycle.choose(&new);
        drop(cycle);
        self.kept += usize::from(kept.is_some());
        if let Some(kept) = &kept {
            assert_eq!(anew.as_ref().ok(), Some(kept), "{name} of shape {:?}", new.shape);
        }
        match (whole, anew) {
            (Ok(whole), Ok((best, nodes))) => {
                assert_eq!(whole.node, best, "{name}");
                let openings = whole.negotiation.expect("drivers are asked");
                assert_eq!(openings.nodes.len(), nodes.len(), "{name}");
                if self.below(2) == 0 {
                    self.plans.selections.set(&new.uid, Some(&best));
                } else {
                    self.facts.waiting.remove(&new.uid);
                    self.facts.put_pod(Arc::new(Pod { node: Some(best), ..new }));
                }
            }
            (Err(whole), Err(anew)) => {
                assert_eq!(whole.to_string(), anew.to_string(), "{name}: the same reason")
            }
            (whole, anew) => unreachable!("{name}: {whole:?} and {anew:?}"),
        }
    }

    fn event(&mut self, shapes: &[Shape]) {
        match self.below(20) {
            0 => {
                let number = self.below(self.nodes);
                self.node(number);
            }
            1 => {
                let name = format!("n{}", self.below(self.nodes));
                self.facts.remove_node(&name);
            }
            2 => {
                let team = labels(&format!("team={}", ["x", "y"][self.below(2) as usize]));
                self.facts.namespaces.apply("ns".into(), team);
            }
            3..=6 if self.pods > 0 => {
                let name = format!("p{}", self.below(self.pods));
                self.facts.take_pod(&name);
            }
            7 if self.pods > 0 => {
                let name = format!("p{}", self.below(self.pods));
                let known = self.facts.nodes.pod(&name).map(|(_, pod)| pod.clone());
                if let Some(known) = known {
                    self.facts.put_pod(Arc::new(Pod { deleting: true, ..Pod::clone(&known) }));
                }
            }
            _ => {
                let shape = shapes[self.below(shapes.len() as u64) as usize].clone();
                if self.negotiates { self.ask(shape) } else { self.come(shape) }
            }
        }
    }
}

fn exists(key: &str) -> LabelSelector {
    LabelSelector::All(vec![Requirement { key: key.into(), operator: Operator::Exists, values: Vec::new() }])
}

fn lent(pod: &str) -> ClaimState {
    let ask = Ask {
        class: "lent".into(),
        selectors: Vec::new(),
        amount: Amount::Exactly(1),
        admin_access: None,
        tolerations: Vec::new(),
        capacity: None,
        derived: Vec::new(),
    };
    let requests = vec![Request { name: "one".into(), wish: Wish::Exactly(ask) }];
    let id = ClaimId { namespace: "ns".into(), name: pod.into() };
    ClaimState {
        uid: format!("uid-{pod}").into(),
        version: "1".into(),
        wish: Arc::new(Claim { id, spec: ClaimSpec { requests, ..ClaimSpec::default() } }),
        allocation: None,
        reserved_for: Vec::new(),
        owner: None,
        extended: false,
        deleting: false,
        protected: false,
        preparation: None,
        control: ClaimControl::default(),
    }
}

/// Nodes with the label of a rack.
fn in_racks() -> NodeSelector {
    let requirement = Requirement { key: "rack".into(), operator: Operator::Exists, values: Vec::new() };
    NodeSelector { terms: vec![NodeTerm { fields: Vec::new(), labels: vec![requirement] }] }
}

fn play(seed: u64, profile: Profile) -> (usize, u64) {
    play_out(Story::new(seed, profile))
}

fn play_out(mut story: Story) -> (usize, u64) {
    let shapes: Vec<Shape> = (0..6).map(|_| story.shape()).collect();
    (0..80).for_each(|_| story.event(&shapes));
    (story.kept, story.pods)
}

#[test]
fn kept_answers_are_those_of_looking_at_all_nodes_anew() {
    let (kept, pods) = (0..48).map(|seed| play(seed, Profile::named(""))).fold((0, 0), add);
    assert!(kept as u64 * 2 > pods, "{kept} of {pods} pods were placed by what is kept");
}

#[test]
fn kept_answers_are_right_for_pods_that_drivers_are_asked_about() {
    let negotiating = |seed| {
        let mut story = Story::new(seed, Profile::named(""));
        story.settings.gates = Gates::default().with(Gate::DRAControlPlaneController, true);
        play_out(Story { negotiates: true, ..story })
    };
    let (kept, pods) = (400..448).map(negotiating).fold((0, 0), add);
    assert!(kept as u64 * 3 > pods, "{kept} of {pods} pods were told of by what is kept");
}

#[test]
fn kept_answers_are_right_if_pods_have_to_be_spread_by_default() {
    let mut profile = Profile::named("");
    let open = Spread { selector: LabelSelector::Nothing, ..spread(1, "zone", "") };
    profile.filters.default_spread = vec![open.clone(), Spread { key: KEYS[2].into(), ..open }];
    profile.scores.default_spread_needs_labels = true;
    let (kept, pods) = (200..232).map(|seed| play(seed, profile.clone())).fold((0, 0), add);
    assert!(kept as u64 * 3 > pods, "{kept} of {pods} pods were placed by what is kept");
}

fn add((kept, pods): (usize, u64), (more, further): (usize, u64)) -> (usize, u64) {
    (kept + more, pods + further)
}
