//! Whatever fails and whenever the machine stops: what was acknowledged is there, in order, and nothing else is but
//! records that were appended behind it.

mod history;

use history::{History, HistoryEvent};
use journal::simulated::Fault;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::Config;

fn step() -> impl Strategy<Value = HistoryEvent> {
    prop_oneof![
        // Few sizes, so that a record may end where a failed one ended and the rest of the failed ones would follow it.
        8 => (1_usize..12, proptest::sample::select(vec![0, 16, 100, 600])).prop_map(|(records, bytes)| HistoryEvent::Append { records, bytes }),
        2 => Just(HistoryEvent::Snapshot),
        1 => proptest::option::of((0_u64..8, fault())).prop_map(HistoryEvent::Kill),
        2 => (any::<u64>(), proptest::option::of((0_u64..8, fault())))
            .prop_map(|(seed, meanwhile)| HistoryEvent::PowerLoss(seed, meanwhile)),
        4 => (0_u64..40, fault()).prop_map(|(after, fault)| HistoryEvent::Fail { after, fault }),
    ]
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        1 => Just(Fault::ShortWrite),
        1 => Just(Fault::TornWrite),
        1 => Just(Fault::NoSpace),
        2 => Just(Fault::SyncFails),
        3 => Just(Fault::Crash),
    ]
}

proptest::proptest! {
    // The variable PROPTEST_CASES has the last word.
    #![proptest_config(Config { cases: 1000, ..Config::default() })]

    #[test]
    fn acknowledged_records_survive_every_failure(
        steps in proptest::collection::vec(step(), 1..40),
        last_seed in any::<u64>(),
    ) {
        let mut history = History::new(true);
        for step in steps {
            history.take(step);
        }
        history.take(HistoryEvent::PowerLoss(last_seed, None));
    }

    #[test]
    fn a_disk_that_lies_about_syncs_never_makes_us_serve_what_was_not_written(
        steps in proptest::collection::vec(
            prop_oneof![
                3 => step(),
                1 => (0_u64..10).prop_map(|after| HistoryEvent::Fail { after, fault: Fault::SyncLost }),
            ],
            1..30,
        ),
        last_seed in any::<u64>(),
    ) {
        let mut history = History::new(false);
        for step in steps {
            history.take(step);
        }
        history.take(HistoryEvent::PowerLoss(last_seed, None));
    }
}
