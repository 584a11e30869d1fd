//! Worlds in which everything goes wrong: nothing that must never be true is, and what waits is placed when it can be.

use std::collections::BTreeSet;
use std::ops::Range;

use simulator::world::{Arrangement, Extra, Groups, Report, Sabotage, groups_of, play, replay_command};

/// Plays worlds, and tells how to play the first one again in which something is wrong.
fn all_is_well(seeds: Range<u64>) -> Vec<Report> {
    let play_one = |seed| {
        let report = play(seed, Sabotage::None, false);
        let wrong = report.violations.join("\n  ");
        assert!(
            wrong.is_empty(),
            "seed {seed}: {wrong}\nto see how it came to that: {}",
            replay_command(seed)
        );
        report
    };
    seeds.map(play_one).collect()
}

#[test]
fn all_is_well_in_the_first_hundred_worlds() {
    let reports = all_is_well(0..100);
    let faults: BTreeSet<String> =
        reports.iter().flat_map(|report| report.faults.keys()).map(ToString::to_string).collect();
    assert_eq!(faults.len(), 16, "every kind of fault occurs: {faults:?}");
    for wanted in [Arrangement::Alone, Arrangement::Replicas, Arrangement::Rivals] {
        assert!(reports.iter().any(|report| report.arrangement == wanted), "{wanted:?} occurs");
    }
    let readied = reports.iter().filter(|report| report.readied);
    assert!(readied.clone().count() > 20, "in some worlds devices have to be made ready");
    assert!(readied.map(|report| report.bound).sum::<u64>() > 30, "and pods are bound there");
    assert!(reports.iter().map(|report| report.bound).sum::<u64>() > 300, "pods are placed");
    assert!(reports.iter().map(|report| report.refused).sum::<u64>() > 300, "pods have to wait");
}

#[test]
fn all_is_well_in_the_second_hundred_worlds() {
    all_is_well(100..200);
}

#[test]
fn all_is_well_in_the_third_hundred_worlds() {
    all_is_well(200..300);
}

#[test]
fn all_is_well_in_worlds_with_gangs() {
    let reports = all_is_well(300..400);
    let gangs: u64 = reports.iter().map(|report| report.gangs).sum();
    assert!(gangs > 50, "gangs are placed: {gangs}");
    let readied: u64 = reports.iter().filter(|report| report.readied).map(|report| report.gangs).sum();
    assert!(readied > 10, "and some whose devices have to be made ready: {readied}");
}

#[test]
fn every_third_world_has_each_of_what_not_every_world_has() {
    let reports = all_is_well(400..600);
    for extra in Extra::ALL {
        let with: Vec<&Report> = reports.iter().filter(|report| report.extras.contains(&extra)).collect();
        assert!(with.len() > 20, "{extra:?} occurs: {}", with.len());
        let bound: u64 = with.iter().map(|report| report.bound).sum();
        assert!(bound > 60, "and pods are placed there: {extra:?}: {bound}");
    }
}

#[test]
fn all_is_well_in_worlds_of_seeds_that_went_wrong_once() {
    // Worlds have more in them than when most of these were found, so that what each is like has changed since; the tests of the
    // engine tell what went wrong. The last two found mistakes about trees, and about gangs that need more members meanwhile.
    let seeds =
        [711, 800, 1093, 2326, 2560, 3211, 3401, 4422, 4461, 4464, 4780, 4789, 5163, 6052, 6344, 7054];
    seeds.into_iter().chain([509, 1092]).for_each(|seed| drop(all_is_well(seed..seed + 1)));
    // One of a pair was bound alone, and a wake-up to give devices back was lost.
    [14_935, 14_957, 501_812, 1_023_985].into_iter().for_each(|seed| drop(all_is_well(seed..seed + 1)));
    // What a verdict rested on was no more when it came: another group of the tree, or the node of a pod that was bound meanwhile.
    // In the last one another client bound a pod while a call was on its way that took its devices back.
    [3_055_171, 3_062_620, 3_006_617, 3_009_522]
        .into_iter()
        .for_each(|seed| drop(all_is_well(seed..seed + 1)));
    // A claim that pods used got a tainted device, and was reserved for another pod and released again, for ever.
    all_is_well(4_018_148..4_018_149);
    // A pod of a tree that had room slept, as others of the tree were placed and some had none.
    all_is_well(500_639..500_640);
    // Another client bound a pod while a call was on its way that took its devices back, and then deleted the claim.
    all_is_well(7_003_400..7_003_401);
}

#[test]
fn a_pod_leaves_a_cordoned_node_that_is_tainted_while_its_volumes_are_bound() {
    all_is_well(40_000_347..40_000_348);
}

#[test]
fn a_claim_that_two_schedulers_found_a_volume_for_keeps_a_pod_off_nodes_that_do_not_reach_it() {
    all_is_well(30_007_798..30_007_799);
}

#[test]
fn some_worlds_have_partitions_in_compatibility_groups() {
    let grouped = |seed: &u64| groups_of(*seed) != Groups::None;
    let seeds: Vec<u64> = (500..1_100).filter(grouped).collect();
    for wanted in [Groups::Kept, Groups::Dropped] {
        let seeds = seeds.iter().filter(|seed| groups_of(**seed) == wanted);
        let reports: Vec<Report> = seeds.flat_map(|seed| all_is_well(*seed..*seed + 1)).collect();
        assert!(reports.iter().all(|report| report.groups == wanted), "{wanted:?}");
        let bound: u64 = reports.iter().map(|report| report.bound).sum();
        assert!(reports.len() > 6 && bound > 60, "{wanted:?} occurs {} times: {bound}", reports.len());
    }
}

#[test]
fn what_was_read_of_a_claim_whose_write_failed_is_known() {
    // It was carried out, its answer got lost, and the claim is deleted: its devices are taken, or it is gone.
    all_is_well(22020..22021);
    all_is_well(2459..2460);
}

#[test]
fn a_seed_has_one_history() {
    for seed in 0..4 {
        let (once, again) = (play(seed, Sabotage::None, true), play(seed, Sabotage::None, true));
        assert_eq!(once.lines, again.lines, "seed {seed}");
        assert_eq!((once.hash, once.faults), (again.hash, again.faults), "seed {seed}");
        assert_ne!(once.hash, play(seed + 1, Sabotage::None, false).hash, "seed {seed}");
    }
}

/// Somebody makes a mistake on purpose, and something is found wrong. Where to begin only saves time.
fn is_noticed(sabotage: Sabotage, first: u64) {
    let is_wrong = |seed| !play(seed, sabotage, false).violations.is_empty();
    assert!((first..first + 150).any(is_wrong), "{sabotage:?} goes unnoticed");
}

/// The same, and what is found wrong is what the rule about it says.
fn is_noticed_by(sabotage: Sabotage, words: &str) {
    let is_wrong = |seed| play(seed, sabotage, false).violations.iter().any(|wrong| wrong.contains(words));
    assert!((200..450).any(is_wrong), "{sabotage:?} goes unnoticed");
}

#[test]
fn a_scheduler_that_does_not_listen_is_noticed() {
    is_noticed(Sabotage::DeafToClaims, 0);
    is_noticed(Sabotage::DeafToDepartures, 0);
    is_noticed(Sabotage::SleepsOn, 4);
}

#[test]
fn whoever_mistakes_what_became_of_a_write_is_noticed() {
    is_noticed(Sabotage::TrustsRefusals, 0);
    is_noticed(Sabotage::GivesUpUnclear, 12);
    is_noticed(Sabotage::KeepsReservations, 0);
}

#[test]
fn a_scheduler_that_learns_nothing_from_answers_is_noticed() {
    is_noticed(Sabotage::KeepsAnswers, 37);
}

#[test]
fn a_scheduler_that_takes_answers_for_news_is_noticed_beside_another() {
    is_noticed(Sabotage::MistakesAnswers, 850);
}

#[test]
fn a_leader_that_begins_before_it_has_seen_everything_is_noticed() {
    is_noticed(Sabotage::LeadsBlindly, 400);
}

#[test]
fn a_scheduler_that_leaves_pods_alone_that_were_bound_by_hand_is_noticed() {
    is_noticed(Sabotage::LeavesBoundPods, 0);
}

#[test]
fn a_scheduler_that_does_not_wait_for_devices_is_noticed() {
    is_noticed(Sabotage::BindsUnready, 0);
}

#[test]
fn controllers_that_leave_something_behind_are_noticed() {
    is_noticed(Sabotage::ForgetsToRelease, 0);
    is_noticed(Sabotage::KeepsAllocations, 0);
    is_noticed(Sabotage::KeepsProtection, 0);
    is_noticed(Sabotage::KeepsMadeClaims, 0);
}

#[test]
fn nodes_that_mistake_what_is_prepared_are_noticed() {
    is_noticed(Sabotage::ReportsBeforeUndoing, 0);
    is_noticed(Sabotage::RunsUnprepared, 0);
    is_noticed(Sabotage::ForgetsCheckpoint, 0);
}

#[test]
fn schedulers_that_are_deaf_to_a_kind_are_noticed() {
    is_noticed_by(Sabotage::DeafToBudgets, "remembers of budgets");
    is_noticed_by(Sabotage::DeafToTaintRules, "was told that it is tainted");
    is_noticed_by(Sabotage::DeafToTaints, "was told that it has taint");
    is_noticed_by(Sabotage::DeafToNamespaces, "have to be apart");
    is_noticed_by(Sabotage::DeafToServices, "remembers of services");
}

#[test]
fn a_scheduler_that_lets_important_pods_go_is_noticed() {
    is_noticed_by(Sabotage::MistakesPriorities, "goes for pod");
}

#[test]
fn a_scheduler_that_mistakes_volumes_is_noticed() {
    is_noticed_by(Sabotage::ForgetsReach, "does not reach");
    is_noticed_by(Sabotage::SharesVolumes, "which is for one pod");
    is_noticed_by(Sabotage::SkipsVolumes, "does not reach");
    is_noticed_by(Sabotage::ForgetsLimits, "attaches at most");
    is_noticed_by(Sabotage::ForgetsCapacity, "no storage is there");
}

#[test]
fn a_scheduler_that_takes_groups_of_a_tree_for_gangs_of_their_own_is_noticed() {
    is_noticed_by(Sabotage::ForgetsParents, "begins with");
}

#[test]
fn a_scheduler_that_lets_pods_of_a_workload_be_anywhere_is_noticed() {
    is_noticed_by(Sabotage::ForgetsLevels, "straddles");
}

#[test]
fn a_scheduler_that_knows_nothing_of_compatibility_groups_is_noticed() {
    is_noticed_by(Sabotage::ForgetsGroups, "no compatibility group in common");
}
