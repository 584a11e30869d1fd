//! The complete life of a claim, with each component dying at each step of it: nothing is ever left.

use simulator::world::{Component, Crash, Kind, Sabotage, crashes, live, relive_command};

/// Lives a life without a crash and with every crash, and tells how to see the first one again that leaves something.
fn leaves_nothing(kind: Kind) {
    let whole = lived(kind, None);
    for component in kind.cast() {
        // Pods that ask for a resource by name need no template, and still somebody who releases the claim.
        assert!(whole.iter().any(|(by, _)| *by == component), "the {component} takes part: {whole:?}");
    }
    for crash in crashes(kind, whole.len()) {
        lived(kind, Some(crash));
    }
}

fn lived(kind: Kind, crash: Option<Crash>) -> Vec<(Component, String)> {
    let report = live(kind, crash, Sabotage::None, false);
    let wrong = report.violations.join("\n  ");
    let step = crash.and_then(|crash| report.steps.get(crash.step));
    let at = crash.zip(step).map(|(crash, (by, what))| {
        let Crash { component, step, moment } = crash;
        format!("the {component} dies at step {step}, {moment:?}, when the {by} did this: {what}")
    });
    assert!(
        wrong.is_empty(),
        "{kind}: {}\n  {wrong}\nto see how it came to that: {}",
        at.unwrap_or_else(|| "nobody dies".to_owned()),
        relive_command(kind, crash)
    );
    report.steps
}

#[test]
fn a_claim_from_a_template_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::Template);
}

#[test]
fn a_claim_that_two_pods_share_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::Shared);
}

#[test]
fn a_claim_for_a_resource_by_name_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::Extended);
}

#[test]
fn a_claim_whose_device_is_made_ready_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::Readied);
}

#[test]
fn a_claim_that_a_driver_gives_devices_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::Lent);
}

#[test]
fn claims_of_several_drivers_and_of_the_scheduler_leave_nothing_whoever_dies_when() {
    leaves_nothing(Kind::LentMany);
}

#[test]
fn a_claim_of_a_driver_that_two_pods_share_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::LentShared);
}

#[test]
fn a_claim_that_a_driver_gives_devices_at_once_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::LentAtOnce);
}

#[test]
fn a_gang_with_claims_of_a_driver_leaves_nothing_whoever_dies_when() {
    leaves_nothing(Kind::LentGang);
}

#[test]
fn a_life_takes_every_step_from_the_template_to_nothing() {
    let steps: Vec<String> =
        lived(Kind::Template, None).into_iter().map(|(by, what)| format!("{by}: {what}")).collect();
    let expected = [
        "controller: make claim gpu of pod only",
        "controller: note the claims of pod only",
        "scheduler: Update ResourceClaim",
        "scheduler: Update ResourceClaim/status",
        "scheduler: Create Pod/binding only",
        "node: node-0 notes that it uses claim",
        "driver: node-0 prepares claim",
        "node: node-0 starts a pod",
        "node: node-0 says that pod only is Running",
        "driver: node-0 undoes a claim",
        "node: node-0 notes that it uses a claim no more",
        "node: node-0 says that pod only is Succeeded",
        "controller: release claim",
        "controller: take the protection of claim",
        "controller: delete claim",
    ];
    assert_eq!(steps.len(), expected.len(), "{steps:#?}");
    for (step, expected) in steps.iter().zip(expected) {
        assert!(step.starts_with(expected), "{step} is no {expected}");
    }
}

#[test]
fn a_mistake_in_a_life_is_noticed() {
    use Sabotage::{
        ForgetsToRelease, KeepsAllocations, KeepsProtection, ReportsBeforeUndoing, RunsUnprepared,
    };
    for mistake in [ForgetsToRelease, KeepsAllocations, KeepsProtection, ReportsBeforeUndoing, RunsUnprepared]
    {
        let report = live(Kind::Template, None, mistake, false);
        assert!(!report.violations.is_empty(), "{mistake:?} goes unnoticed");
    }
    let forgets = |step| {
        let crash = Crash { component: Component::Node, step, moment: simulator::world::Moment::Answered };
        live(Kind::Template, Some(crash), Sabotage::ForgetsCheckpoint, false)
    };
    assert!((0..15).any(|step| !forgets(step).violations.is_empty()), "a lost checkpoint goes unnoticed");
}
