//! Taking and giving back are exact inverses, in any order.

use std::collections::BTreeMap;
use std::sync::Arc;

use cluster::ledger::{Holding, Ledger, ShareId};
use model::claim::ClaimId;
use model::device::{DeviceId, PoolId};
use proptest::prelude::*;

/// One taking: a device, a claim, and for a share its id and amounts.
#[derive(Clone, Debug)]
struct Taking {
    device: DeviceId,
    share: Option<ShareId>,
    holding: Holding,
}

fn text(prefix: &str, number: u8) -> Arc<str> {
    format!("{prefix}{number}").into()
}

/// Takings with ids of their own, so that none replaces another.
fn takings() -> impl Strategy<Value = Vec<Taking>> {
    let amounts = prop::collection::btree_map(0_u8..2, "[1-9][0-9]{0,2}(m|Mi|Gi|n)?", 0..3);
    let groups = prop::collection::btree_map(0_u8..2, prop::collection::vec(0_u8..3, 0..3), 0..3);
    let one = (0_u8..3, 0_u8..3, any::<bool>(), amounts, groups);
    prop::collection::vec(one, 0..12).prop_map(|takings| {
        takings
            .into_iter()
            .enumerate()
            .map(|(number, (pool, device, shared, amounts, groups))| {
                let number = number as u8;
                let holder = ClaimId { namespace: "default".into(), name: text("claim-", number) };
                let amount = |(name, text): (u8, String)| {
                    (self::text("capacity-", name), text.parse().expect("a quantity"))
                };
                let groups = groups.into_iter().map(|(set, groups)| {
                    (text("set-", set), groups.into_iter().map(|group| text("group-", group)).collect())
                });
                Taking {
                    device: DeviceId {
                        driver: "gpu.example.com".into(),
                        pool: text("pool-", pool),
                        device: text("device-", device),
                    },
                    share: shared.then(|| ShareId(text("share-", number))),
                    holding: Holding {
                        holder: holder.into(),
                        groups: groups.collect(),
                        consumed: if shared {
                            amounts.into_iter().map(amount).collect()
                        } else {
                            BTreeMap::new()
                        },
                    },
                }
            })
            .collect()
    })
}

fn take(ledger: &mut Ledger, taking: &Taking) {
    ledger.take(&taking.device, taking.share.clone(), taking.holding.clone());
}

proptest! {
    #[test]
    fn giving_back_undoes_taking_in_any_order(
        (takings, order) in takings().prop_flat_map(|takings| {
            let order = Just((0..takings.len()).collect::<Vec<_>>()).prop_shuffle();
            (Just(takings), order)
        }),
        kept in 0_usize..12,
    ) {
        let kept = kept.min(takings.len());
        let mut expected = Ledger::default();
        takings[..kept].iter().for_each(|taking| take(&mut expected, taking));
        let mut ledger = Ledger::default();
        takings.iter().for_each(|taking| take(&mut ledger, taking));
        for number in order.into_iter().filter(|number| *number >= kept) {
            let Taking { device, share, holding } = &takings[number];
            prop_assert!(ledger.give_back(device, share.as_ref(), &holding.holder));
            prop_assert!(!ledger.give_back(device, share.as_ref(), &holding.holder), "it was given back");
        }
        prop_assert_eq!(&ledger, &expected);
        if kept == 0 {
            prop_assert!(ledger.is_empty());
        }
    }

    #[test]
    fn the_sum_of_shares_is_the_sum_of_what_is_held(takings in takings()) {
        let mut ledger = Ledger::default();
        takings.iter().for_each(|taking| take(&mut ledger, taking));
        for device in takings.iter().map(|taking| &taking.device) {
            let held = takings.iter().filter(|taking| taking.device == *device && taking.share.is_some());
            for capacity in ["capacity-0", "capacity-1"] {
                let amounts = held.clone().filter_map(|taking| taking.holding.consumed.get(capacity));
                let sum: i128 = amounts.map(|amount| amount.nanos().expect("small")).sum();
                prop_assert_eq!(ledger.holdings(device).expect("it is held").consumed(capacity), sum);
            }
        }
    }

    #[test]
    fn devices_with_recorded_groups_are_found_by_pool(takings in takings()) {
        let mut ledger = Ledger::default();
        takings.iter().for_each(|taking| take(&mut ledger, taking));
        for pool in 0..3 {
            let pool = PoolId { driver: "gpu.example.com".into(), pool: text("pool-", pool) };
            let grouped = |taking: &&Taking| taking.device.pool == pool.pool && !taking.holding.groups.is_empty();
            let mut devices: Vec<_> = takings.iter().filter(grouped).map(|taking| &taking.device).collect();
            devices.sort();
            devices.dedup();
            prop_assert_eq!(ledger.grouped(&pool).count(), devices.len());
        }
    }
}

#[test]
fn taking_again_under_the_same_claim_replaces_what_was_held() {
    let device = DeviceId { driver: "d".into(), pool: "p".into(), device: "x".into() };
    let holder = ClaimId { namespace: "default".into(), name: "claim".into() };
    let holding = |amount: &str| Holding {
        holder: holder.clone().into(),
        groups: BTreeMap::new(),
        consumed: BTreeMap::from([("memory".into(), amount.parse().expect("a quantity"))]),
    };
    let mut ledger = Ledger::default();
    let share = ShareId("share".into());
    ledger.take(&device, Some(share.clone()), holding("4Gi"));
    ledger.take(&device, Some(share.clone()), holding("1Gi"));
    let held = ledger.holdings(&device).expect("it is held");
    assert_eq!(held.consumed("memory"), (1_i128 << 30) * 1_000_000_000);
    assert!(ledger.give_back(&device, Some(&share), &holder.into()));
    assert!(ledger.is_empty());
}
