//! Whether a claim gives its devices back: every reason against everything that speaks for keeping them.

use std::sync::Arc;

use cluster::claims::{Allocated, ClaimState};
use cluster::facts::Facts;
use decisions::giving_back::{Kept, Why, kept};
use decisions::underway::{Tie, Underway};
use gates::Gates;
use model::claim::{Amount, Ask, Claim, ClaimControl, ClaimId, ClaimSpec, Class, Control, Request, Wish};
use model::pod::Pod;

/// What is being written for the pod `uid-p`.
struct Writing {
    tie: Tie,
    reserved_for_other: bool,
    given_up: bool,
}

const NOTHING: Writing = Writing { tie: Tie::None, reserved_for_other: false, given_up: false };

impl Underway for Writing {
    fn is_on_its_way(&self, _: &str) -> bool {
        true
    }

    fn is_being_reserved(&self, _: &ClaimId, _: Option<&str>) -> bool {
        self.reserved_for_other
    }

    fn reserving(&self, _: &ClaimId) -> Vec<Arc<Pod>> {
        Vec::new()
    }

    fn is_given_up(&self, _: &ClaimId) -> bool {
        self.given_up
    }

    fn tie(&self, _: &str) -> Tie {
        self.tie
    }
}

fn id() -> ClaimId {
    ClaimId { namespace: "n".into(), name: "c".into() }
}

fn claim() -> ClaimState {
    ClaimState {
        uid: "uid-c".into(),
        version: "1".into(),
        wish: Arc::new(Claim { id: id(), spec: ClaimSpec::default() }),
        allocation: Some(Arc::new(Allocated { nodes: None, held: Vec::new() })),
        reserved_for: Vec::new(),
        owner: None,
        extended: false,
        deleting: false,
        protected: false,
        preparation: None,
        control: ClaimControl::default(),
    }
}

fn verdict(why: Why, state: &ClaimState, writing: &Writing) -> Option<Kept> {
    let mut facts = Facts::new(Gates::all_on());
    facts.claims.apply(state.clone());
    kept(&facts, writing, why, &id(), Some(&"uid-p".into()))
}

fn of_driver(immediate: bool, leaving: bool) -> ClaimState {
    let controller = Some("driver.example.com".into());
    ClaimState { control: ClaimControl { controller, immediate, leaving, shareable: false }, ..claim() }
}

#[test]
fn each_reason_takes_what_its_line_says() {
    let readied = Writing { tie: Tie::Readied, ..NOTHING };
    let bound = Writing { tie: Tie::Bound, ..NOTHING };
    let (driver, node, ours) = (Some(Kept::OfDriver), Some(Kept::ForItsNode), Some(Kept::OfOurs));
    // We gave them; and the pod was readied on its node, or bound to it. A driver's controller gave them; for good; and is asked
    // for them already.
    let lines = [
        (Why::PodGone, [None, None, None, driver, driver, driver]),
        (Why::NotBound, [None, node, node, driver, driver, driver]),
        (Why::BindRefused, [None, None, node, driver, driver, driver]),
        (Why::Preempted, [None; 6]),
        (Why::LostClash, [None; 6]),
        (Why::NotReady, [None; 6]),
        (Why::BlocksOwnPod, [None, None, None, None, driver, None]),
        (Why::BlocksOwnGang, [None, None, None, driver, driver, driver]),
        (Why::Unused, [None, None, None, driver, driver, driver]),
        (Why::NegotiationFailed, [ours, ours, ours, None, driver, driver]),
        (Why::DriverAsked, [ours, ours, ours, ours, ours, None]),
    ];
    assert_eq!(lines.map(|(why, _)| why), Why::ALL);
    for (why, expected) in lines {
        let found = [
            verdict(why, &claim(), &NOTHING),
            verdict(why, &claim(), &readied),
            verdict(why, &claim(), &bound),
            verdict(why, &of_driver(false, false), &NOTHING),
            verdict(why, &of_driver(true, false), &NOTHING),
            verdict(why, &of_driver(false, true), &NOTHING),
        ];
        assert_eq!(found, expected, "{why:?}");
    }
}

#[test]
fn nothing_is_taken_that_another_uses_or_that_is_asked_for_whatever_the_reason() {
    for why in Why::ALL {
        // As the reason would have it given back.
        let given = match why {
            Why::NegotiationFailed => of_driver(false, false),
            Why::DriverAsked => of_driver(false, true),
            _ => claim(),
        };
        assert_eq!(verdict(why, &given, &NOTHING), None, "{why:?}");
        let used = ClaimState { reserved_for: vec!["uid-other".into()], ..given.clone() };
        assert_eq!(verdict(why, &used, &NOTHING), Some(Kept::InUse), "{why:?}");
        let own = ClaimState { reserved_for: vec!["uid-p".into()], ..given.clone() };
        assert_eq!(verdict(why, &own, &NOTHING), None, "{why:?}");
        let reserving = Writing { reserved_for_other: true, ..NOTHING };
        assert_eq!(verdict(why, &given, &reserving), Some(Kept::BeingReserved), "{why:?}");
        let asked = Writing { given_up: true, ..NOTHING };
        assert_eq!(verdict(why, &given, &asked), Some(Kept::AskedFor), "{why:?}");
        let made = ClaimState { extended: true, ..given.clone() };
        assert_eq!(verdict(why, &made, &NOTHING), Some(Kept::Made), "{why:?}");
        let empty = ClaimState { allocation: None, ..given.clone() };
        assert_eq!(verdict(why, &empty, &NOTHING), Some(Kept::NoDevices), "{why:?}");
        let deleting = ClaimState { deleting: true, ..given };
        assert_eq!(
            verdict(why, &deleting, &NOTHING),
            (why == Why::Unused).then_some(Kept::Deleting),
            "{why:?}"
        );
    }
}

/// A claim of a class whose devices a driver's controller gives, allocated without a word of what did it.
fn nameless(protected: bool, immediate: bool, leaving: bool) -> ClaimState {
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
    let wish = Arc::new(Claim { id: id(), spec: ClaimSpec { requests, ..ClaimSpec::default() } });
    let control = ClaimControl { controller: None, immediate, leaving, shareable: false };
    ClaimState { wish, protected, control, ..claim() }
}

#[test]
fn an_allocation_whose_controller_lost_its_name_is_the_drivers_unless_a_scheduler_protects_the_claim() {
    let told = |why: Why, state: &ClaimState, is_known: bool| {
        let mut facts = Facts::new(Gates::all_on());
        if is_known {
            let control = Some(Arc::new(Control { controller: "driver.example.com".into(), suitable: None }));
            facts.apply_class(Class { name: "lent".into(), control, ..Class::default() });
        }
        facts.claims.apply(state.clone());
        kept(&facts, &NOTHING, why, &id(), Some(&"uid-p".into()))
    };
    for why in Why::ALL {
        for (immediate, leaving) in [(false, false), (true, false), (false, true)] {
            let (state, named) = (nameless(false, immediate, leaving), of_driver(immediate, leaving));
            assert_eq!(told(why, &state, true), verdict(why, &named, &NOTHING), "{why:?}");
        }
        let (ours, plain) = (nameless(true, false, false), verdict(why, &claim(), &NOTHING));
        assert_eq!(told(why, &ours, true), plain, "{why:?}: a scheduler allocated it");
        let unknown = nameless(false, false, false);
        assert_eq!(told(why, &unknown, false), plain, "{why:?}: no driver is to be asked");
    }
}
