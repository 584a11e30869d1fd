//! Members of a gang or of a tree of groups that found their seats at once, and are bound together: they gather until enough of them
//! have all that they need, and land when none of them waits for another any more.
//!
//! | | Joined | Vacated | Filled | Cleared | Bound | NotBound | Left | LastLeft |
//! |---|---|---|---|---|---|---|---|---|
//! | Gathering | Gathering | Gathering | Gathering | Landing | - | Gathering | Gathering | over |
//! | Landing | Landing | Landing | Landing | - | Landing | Landing | Landing | over |
//!
//! While they gather, a gang that falls short of what it needs is taken back as a whole, and the seat of a member whose devices
//! failed may be kept open. Once they land no member is taken back that is bound.

use std::collections::{BTreeMap, BTreeSet};

use cluster::groups::Root;
use model::identity::PodUid;
use model::timestamp::Timestamp;
use rustc_hash::FxHashMap;

use crate::queue::Tries;

/// Members that are to be bound together.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    /// The members on the way.
    pub members: BTreeSet<PodUid>,
    /// How many had to be bound together when they set off.
    pub at_least: usize,
    /// How often the gang was looked at, and since when.
    pub tries: Tries,
    /// When the youngest of them was made.
    pub youngest: Option<Timestamp>,
    stage: FlightStage,
}

/// How far they are.
#[derive(Clone, Debug)]
enum FlightStage {
    /// None of them is bound before enough have all that they need.
    Gathering {
        /// Members whose devices failed, and which are looked a place for again before the others are taken back.
        vacant: BTreeSet<PodUid>,
    },
    /// They are being bound.
    Landing {
        /// Those that are.
        landed: BTreeSet<PodUid>,
        /// One of them could not be.
        is_broken: bool,
    },
    /// It is known of all of them whether they are bound.
    Over {
        /// Those that are, if another could not be.
        landed: Option<BTreeSet<PodUid>>,
    },
}

/// What happens to them.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// More members found seats beside them; none is kept open any more.
    Joined {
        /// These members.
        members: BTreeSet<PodUid>,
        /// When the youngest of them was made.
        youngest: Option<Timestamp>,
    },
    /// The seat of a member is kept open.
    Vacated(PodUid),
    /// The seat of a member is not kept open any more; without a member none is.
    Filled(Option<PodUid>),
    /// All have what they need.
    Cleared,
    /// A member is bound.
    Bound(PodUid),
    /// A member could not be bound.
    NotBound,
    /// A member is on its way no more.
    Left(PodUid),
}

impl Flight {
    /// Members that set off together.
    pub fn new(members: BTreeSet<PodUid>, at_least: usize, youngest: Option<Timestamp>) -> Flight {
        let stage = FlightStage::Gathering { vacant: BTreeSet::new() };
        Flight { members, at_least, tries: Tries::default(), youngest, stage }
    }

    /// The same members, whose gang was looked at so often since it first was ready to be placed.
    pub fn after(self, tries: Tries) -> Flight {
        Flight { tries, ..self }
    }

    /// Whether they may be bound.
    pub fn is_cleared(&self) -> bool {
        matches!(self.stage, FlightStage::Landing { .. })
    }

    /// How many seats are kept open.
    pub fn vacant(&self) -> usize {
        if let FlightStage::Gathering { vacant } = &self.stage { vacant.len() } else { 0 }
    }

    /// Those that are bound, if it is over and another could not be.
    pub fn broken_off(&self) -> Option<&BTreeSet<PodUid>> {
        if let FlightStage::Over { landed } = &self.stage { landed.as_ref() } else { None }
    }

    /// Goes on by an event.
    fn step(&mut self, event: Event) {
        let name = event.name();
        match &event {
            Event::Joined { members, youngest } => {
                self.members.extend(members.iter().cloned());
                self.youngest = self.youngest.max(*youngest);
            }
            Event::Left(uid) => {
                let was_member = self.members.remove(uid);
                debug_assert!(was_member, "only a member leaves");
            }
            Event::Bound(uid) => debug_assert!(self.members.contains(uid), "only a member is bound"),
            Event::Vacated(_) | Event::Filled(_) | Event::Cleared | Event::NotBound => {}
        }
        let stage = std::mem::replace(&mut self.stage, FlightStage::Over { landed: None });
        let from = stage.name();
        let (stage, is_expected) = step(stage, event, self.members.is_empty());
        debug_assert!(is_expected, "members of a gang were {from} and were told {name}");
        self.stage = stage;
    }
}

/// The stage after an event, which may have left no member, and whether the table has it.
fn step(stage: FlightStage, event: Event, is_empty: bool) -> (FlightStage, bool) {
    let next = match (stage, event) {
        (FlightStage::Gathering { .. }, Event::Left(_)) if is_empty => FlightStage::Over { landed: None },
        (FlightStage::Landing { landed, is_broken }, Event::Left(_)) if is_empty => {
            FlightStage::Over { landed: is_broken.then_some(landed) }
        }
        (FlightStage::Gathering { .. }, Event::Joined { .. } | Event::Filled(None)) => {
            FlightStage::Gathering { vacant: BTreeSet::new() }
        }
        (FlightStage::Gathering { mut vacant }, Event::Vacated(uid)) => {
            vacant.insert(uid);
            FlightStage::Gathering { vacant }
        }
        (FlightStage::Gathering { mut vacant }, Event::Filled(Some(uid))) => {
            vacant.remove(&uid);
            FlightStage::Gathering { vacant }
        }
        (FlightStage::Gathering { .. }, Event::Cleared) => {
            FlightStage::Landing { landed: BTreeSet::new(), is_broken: false }
        }
        (FlightStage::Landing { mut landed, is_broken }, Event::Bound(uid)) => {
            landed.insert(uid);
            FlightStage::Landing { landed, is_broken }
        }
        (FlightStage::Landing { landed, .. }, Event::NotBound) => {
            FlightStage::Landing { landed, is_broken: true }
        }
        (stage @ FlightStage::Gathering { .. }, Event::NotBound | Event::Left(_))
        | (
            stage @ FlightStage::Landing { .. },
            Event::Joined { .. } | Event::Vacated(_) | Event::Filled(_) | Event::Left(_),
        ) => stage,
        (stage, _) => return (stage, false),
    };
    (next, true)
}

impl FlightStage {
    fn name(&self) -> &'static str {
        match self {
            FlightStage::Gathering { .. } => "Gathering",
            FlightStage::Landing { .. } => "Landing",
            FlightStage::Over { .. } => "over",
        }
    }
}

impl Event {
    fn name(&self) -> &'static str {
        match self {
            Event::Joined { .. } => "Joined",
            Event::Vacated(_) => "Vacated",
            Event::Filled(_) => "Filled",
            Event::Cleared => "Cleared",
            Event::Bound(_) => "Bound",
            Event::NotBound => "NotBound",
            Event::Left(_) => "Left",
        }
    }
}

/// All flights: of a gang there is one at most, and a pod is in one at most.
#[derive(Debug, Default)]
pub(crate) struct Flights {
    by_root: BTreeMap<Root, Flight>,
    of: FxHashMap<PodUid, Root>,
}

impl Flights {
    /// Members set off together, and with those that are on their way already.
    pub fn begin(&mut self, root: &Root, flight: Flight) {
        self.of.extend(flight.members.iter().map(|uid| (uid.clone(), root.clone())));
        let Flight { members, youngest, .. } = &flight;
        match self.by_root.get_mut(root) {
            Some(before) => {
                before.step(Event::Joined { members: members.clone(), youngest: *youngest });
            }
            None => drop(self.by_root.insert(root.clone(), flight)),
        }
    }

    /// Members on their way go on by an event. They are given back when none is on its way any more.
    pub fn step(&mut self, root: &Root, event: Event) -> Option<Flight> {
        let flight = self.by_root.get_mut(root)?;
        if let Event::Left(uid) = &event {
            self.of.remove(uid);
        }
        flight.step(event);
        if matches!(flight.stage, FlightStage::Over { .. }) { self.by_root.remove(root) } else { None }
    }

    /// The members of a gang or of a tree that are on their way.
    pub fn get(&self, root: &Root) -> Option<&Flight> {
        self.by_root.get(root)
    }

    /// The gang or the tree that a pod is on its way with.
    pub fn root_of(&self, uid: &str) -> Option<&Root> {
        self.of.get(uid)
    }

    /// The members that a pod is on its way with, itself among them.
    pub fn of(&self, uid: &str) -> Option<&Flight> {
        self.by_root.get(self.of.get(uid)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::life_cycles::table;

    fn landed(uids: &[&str]) -> BTreeSet<PodUid> {
        uids.iter().map(|uid| PodUid::from(*uid)).collect()
    }

    #[test]
    fn the_table_in_the_header_is_what_the_code_does() {
        let joined = Event::Joined { members: landed(&["b"]), youngest: None };
        let events = [
            (joined, false),
            (Event::Vacated("a".into()), false),
            (Event::Filled(None), false),
            (Event::Cleared, false),
            (Event::Bound("a".into()), false),
            (Event::NotBound, false),
            (Event::Left("a".into()), false),
            (Event::Left("a".into()), true),
        ];
        let name = |(event, is_last): &(Event, bool)| if *is_last { "LastLeft" } else { event.name() };
        let names: Vec<&str> = events.iter().map(name).collect();
        let gathering = FlightStage::Gathering { vacant: BTreeSet::new() };
        let landing = FlightStage::Landing { landed: BTreeSet::new(), is_broken: false };
        let rows = [gathering, landing].map(|stage| {
            let after = |(event, is_last): &(Event, bool)| match step(stage.clone(), event.clone(), *is_last)
            {
                (next, true) => next.name().to_owned(),
                (_, false) => "-".to_owned(),
            };
            (stage.name().to_owned(), events.iter().map(after).collect())
        });
        table::assert_is_so(include_str!("flight.rs"), &names, &rows);
    }

    #[test]
    fn those_that_are_bound_are_told_of_when_another_could_not_be() {
        let (mut flights, root) = (Flights::default(), Root::Composite(Default::default()));
        flights.begin(&root, Flight::new(landed(&["a", "b"]), 2, None));
        assert!(flights.step(&root, Event::Vacated("b".into())).is_none());
        assert_eq!(flights.of("a").map(Flight::vacant), Some(1));
        for event in [Event::Cleared, Event::Bound("a".into()), Event::Left("a".into()), Event::NotBound] {
            assert!(flights.step(&root, event).is_none(), "b is on its way");
        }
        let over = flights.step(&root, Event::Left("b".into())).expect("none is on its way");
        assert_eq!(over.broken_off(), Some(&landed(&["a"])));
        assert!(flights.by_root.is_empty() && flights.of.is_empty());
    }
}
