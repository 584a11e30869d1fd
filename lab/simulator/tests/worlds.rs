//! Worlds in which everything goes wrong: nothing that must never be true is, and what waits is placed when it can be.

use std::collections::BTreeSet;
use std::ops::Range;

use simulator::world::{Arrangement, Report, Sabotage, play, replay_command};

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
    assert_eq!(faults.len(), 15, "every kind of fault occurs: {faults:?}");
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
fn all_is_well_where_somebody_binds_a_pod_whose_devices_are_about_to_be_taken_back() {
    all_is_well(711..712);
}

#[test]
fn all_is_well_where_one_that_was_called_back_cannot_give_its_devices_back() {
    all_is_well(800..801);
}

#[test]
fn a_pod_keeps_what_it_uses_when_its_node_is_gone() {
    // It was bound by hand while the answer to our allocation was late.
    all_is_well(2326..2327);
}

#[test]
fn no_room_is_kept_for_a_pod_whose_claim_somebody_deletes() {
    all_is_well(2560..2561);
}

#[test]
fn no_room_is_kept_for_a_gang_of_which_somebody_ends_who_had_a_node() {
    all_is_well(3401..3402);
    all_is_well(4780..4781);
}

#[test]
fn a_gang_does_not_try_again_at_once_what_went_wrong_for_one_of_it() {
    // Its claim is gone, which is heard of late.
    all_is_well(4464..4465);
}

#[test]
fn what_failed_for_one_of_a_gang_is_tried_again_when_the_others_have_their_nodes() {
    all_is_well(1093..1094);
    all_is_well(3211..3212);
}

#[test]
fn a_gang_of_which_a_binding_was_refused_may_lose_the_place_of_that_member() {
    // Its node was cordoned meanwhile, or somebody who matters more took the room.
    all_is_well(4422..4423);
    all_is_well(4461..4462);
    all_is_well(4789..4790);
}

#[test]
fn a_claim_that_cannot_give_its_devices_back_is_not_asked_again_at_once() {
    // It is being deleted, which is heard of late.
    all_is_well(7054..7055);
}

#[test]
fn a_pod_that_has_its_node_keeps_what_is_reserved_for_it() {
    // One of its claims could not be had, or somebody bound it by hand before we did.
    all_is_well(6052..6053);
    all_is_well(6344..6345);
}

#[test]
fn a_pod_lets_go_of_what_it_cannot_use_where_somebody_put_it() {
    all_is_well(5163..5164);
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
    is_noticed(Sabotage::KeepsReservations, 4);
}

#[test]
fn a_scheduler_that_learns_nothing_from_answers_is_noticed() {
    is_noticed(Sabotage::KeepsAnswers, 37);
}

#[test]
fn a_scheduler_that_takes_answers_for_news_is_noticed_beside_another() {
    is_noticed(Sabotage::MistakesAnswers, 7);
}

#[test]
fn a_leader_that_begins_before_it_has_seen_everything_is_noticed() {
    is_noticed(Sabotage::LeadsBlindly, 4);
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
