//! What was last seen of a fabric, and whether that still counts.
//!
//! | sight | then | sight |
//! |---|---|---|
//! | any | something is done to the fabric | stale, and so is what anybody is looking at who began before |
//! | any | a look that began after the last deed brings an inventory | fresh for a period |
//! | any | a look that began before the last deed brings one | stale |
//! | fresh | the period is over | stale |
//!
//! Invariant: nothing is decided by an inventory that is older than what was last done to the fabric.

use std::sync::Arc;
use std::time::Duration;

use controllers::fabric::inventory::Inventory;
use model::timestamp::Timestamp;

/// What was last seen of the fabric.
#[derive(Default)]
pub(super) struct Sight {
    seen: Option<Seen>,
    /// How often something was done to the fabric.
    acts: u64,
}

struct Seen {
    inventory: Arc<Inventory>,
    /// How often something had been done to the fabric when the look began.
    acts: u64,
}

/// A look at the fabric that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance {
    acts: u64,
}

impl Sight {
    /// Something was done to the fabric, with whatever success.
    pub(super) fn act(&mut self) {
        self.acts += 1;
    }

    /// Somebody begins to look.
    pub(super) fn begin(&self) -> Glance {
        Glance { acts: self.acts }
    }

    /// What a look has brought.
    pub(super) fn see(&mut self, glance: Glance, inventory: Inventory) {
        self.seen = Some(Seen { inventory: Arc::new(inventory), acts: glance.acts });
    }

    /// What was seen, unless something was done since.
    pub(super) fn current(&self) -> Option<Arc<Inventory>> {
        let seen = self.seen.as_ref().filter(|seen| seen.acts == self.acts)?;
        Some(seen.inventory.clone())
    }

    /// What was seen within a period, unless something was done since, and when it is to be looked again.
    pub(super) fn fresh(&self, now: Timestamp, period: Duration) -> Option<(Arc<Inventory>, Timestamp)> {
        let period_ms = i64::try_from(period.as_millis()).unwrap_or(i64::MAX);
        let seen = self.current()?;
        let due = seen.as_of.plus_millis(period_ms);
        (now < due).then_some((seen, due))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_secs(10);

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(1_000_000_000).plus_millis(seconds * 1_000)
    }

    fn inventory(seconds: i64) -> Inventory {
        Inventory { as_of: at(seconds), ..Inventory::default() }
    }

    /// What happens to a sight.
    enum Event {
        Act,
        Begin,
        /// The look that began last brings an inventory of this second.
        See(i64),
    }

    /// After these events, at this second: whether there is something to decide by, and whether it is fresh.
    fn judged(events: &[Event], now: i64) -> (bool, bool) {
        let mut sight = Sight::default();
        let mut glance = sight.begin();
        for event in events {
            match event {
                Event::Act => sight.act(),
                Event::Begin => glance = sight.begin(),
                Event::See(seconds) => sight.see(glance, inventory(*seconds)),
            }
        }
        (sight.current().is_some(), sight.fresh(at(now), PERIOD).is_some())
    }

    #[test]
    fn only_an_inventory_that_is_younger_than_the_last_deed_counts() {
        use Event::{Act, Begin, See};
        type Row = (&'static str, &'static [Event], i64, (bool, bool));
        let table: &[Row] = &[
            ("nothing was seen", &[], 0, (false, false)),
            ("it was looked", &[Begin, See(0)], 9, (true, true)),
            ("its time is over", &[Begin, See(0)], 10, (true, false)),
            ("something was done since", &[Begin, See(0), Act], 1, (false, false)),
            ("something was done while somebody looked", &[Begin, Act, See(0)], 1, (false, false)),
            ("it was looked again after that", &[Begin, Act, See(0), Begin, See(1)], 2, (true, true)),
            ("a look that began after the deed counts", &[Act, Begin, See(0)], 1, (true, true)),
            ("two deeds, and a look between them", &[Act, Begin, Act, See(0)], 1, (false, false)),
        ];
        for (what, events, now, expected) in table {
            assert_eq!(judged(events, *now), *expected, "{what}");
        }
    }

    #[test]
    fn it_is_looked_again_when_the_period_is_over() {
        let mut sight = Sight::default();
        sight.see(sight.begin(), inventory(3));
        assert_eq!(sight.fresh(at(4), PERIOD).map(|(_, due)| due), Some(at(13)));
    }
}
