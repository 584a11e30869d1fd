//! What a world is like, and what goes wrong in it: all of it follows from the seed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::dice::Dice;
use super::extras::{self, Extra};

/// Something that goes wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fault {
    /// A write is told that somebody else was faster, although nobody was.
    Conflict,
    /// A write is told to come again later.
    Busy,
    /// A write is not carried out, and nobody says so.
    NeverArrived,
    /// A write is carried out, and nobody says so.
    LostAnswer,
    /// A write is given up by its sender, and carried out after that.
    LateArrival,
    /// An answer takes seconds.
    LateAnswer,
    /// A write is made from an object as it was.
    StaleRead,
    /// An event is told twice.
    RepeatedEvent,
    /// An event takes seconds, and those of other kinds overtake it.
    LateEvent,
    /// A watch breaks, and everything is listed again later.
    BrokenWatch,
    /// A scheduler dies, and starts again with nothing.
    Crash,
    /// Another replica leads from now on.
    TakeOver,
    /// The controllers die, and start again with nothing.
    ControllerCrash,
    /// The agent of a node dies. What it wrote down stays, and so do containers.
    NodeCrash,
    /// The driver of a node dies. What it has prepared stays.
    DriverCrash,
    /// What takes long to decide could not be decided.
    NoVerdict,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Fault::Conflict => "conflicts",
            Fault::Busy => "too many requests",
            Fault::NeverArrived => "writes that never arrived",
            Fault::LostAnswer => "lost answers",
            Fault::LateArrival => "writes that arrived after they were given up",
            Fault::LateAnswer => "late answers",
            Fault::StaleRead => "writes from stale objects",
            Fault::RepeatedEvent => "repeated events",
            Fault::LateEvent => "late events",
            Fault::BrokenWatch => "broken watches",
            Fault::Crash => "crashes",
            Fault::TakeOver => "changes of the leader",
            Fault::ControllerCrash => "crashes of controllers",
            Fault::NodeCrash => "crashes of nodes' agents",
            Fault::DriverCrash => "crashes of drivers",
            Fault::NoVerdict => "considerations that failed",
        };
        out.write_str(name)
    }
}

/// How often what went wrong.
pub type Faults = BTreeMap<Fault, u64>;

/// Who schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrangement {
    /// One scheduler.
    Alone,
    /// Two replicas of one scheduler, of which one leads.
    Replicas,
    /// Two schedulers that know nothing of each other, with the same nodes and devices.
    Rivals,
}

/// What the devices of a world are like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Devices {
    /// Each belongs to one claim.
    Whole,
    /// A card is taken whole or in halves, which draw from the same counters.
    Partitioned,
    /// Several claims share a device, each with a part of its capacity.
    Shared,
}

/// Whether partitions have compatibility groups, which say with which others of their card they go together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Groups {
    /// They have none.
    None,
    /// They have, and the API server keeps what a claim says of them.
    Kept,
    /// They have, and the API server drops what a claim says of them in its status, as one of Kubernetes does.
    Dropped,
}

impl Groups {
    /// Those of a world, or of one of drivers that give devices themselves.
    pub fn of_world(seed: u64) -> Groups {
        // Of numbers of its own, so that the other worlds stay what they were.
        [Groups::None, Groups::Kept, Groups::None, Groups::Dropped][Dice::new(seed, 10).below(4)]
    }
}

/// A mistake that somebody makes on purpose, to see that it is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sabotage {
    /// None.
    #[default]
    None,
    /// Once it has listed the claims, it hears no more of them.
    DeafToClaims,
    /// Once it has listed the pods, it never hears that one is gone.
    DeafToDepartures,
    /// It takes a refusal of the API for a success.
    TrustsRefusals,
    /// It takes a write without an answer for one that was not carried out.
    GivesUpUnclear,
    /// What answers show of claims is not told as a fact.
    KeepsAnswers,
    /// What answers show of claims is told as if the watch had shown it, beside another scheduler.
    MistakesAnswers,
    /// The reservations of pods that are put back stay.
    KeepsReservations,
    /// A new leader begins before it has seen what the last one did.
    LeadsBlindly,
    /// It is never told that there is time to place pods after something changed.
    SleepsOn,
    /// Schedulers think that a pod which was bound by hand lacks nothing.
    LeavesBoundPods,
    /// Controllers leave reservations to pods that are done.
    ForgetsToRelease,
    /// Controllers leave devices to claims that nobody uses any more.
    KeepsAllocations,
    /// Controllers leave the protection to claims without devices.
    KeepsProtection,
    /// Controllers leave claims alone that were made for pods which are done.
    KeepsMadeClaims,
    /// Nodes say that a pod has ended before its claims are undone.
    ReportsBeforeUndoing,
    /// Nodes run pods whose claims are not prepared.
    RunsUnprepared,
    /// The agent of a node loses its checkpoint when it dies.
    ForgetsCheckpoint,
    /// Schedulers think that every device is ready as soon as it is chosen.
    BindsUnready,
    /// Schedulers never hear of disruption budgets.
    DeafToBudgets,
    /// They never hear of rules that taint devices.
    DeafToTaintRules,
    /// They never hear of the taints of nodes.
    DeafToTaints,
    /// They never hear what labels namespaces have.
    DeafToNamespaces,
    /// They never hear of services.
    DeafToServices,
    /// They think that the least important pods are the most important ones.
    MistakesPriorities,
    /// They think that every node reaches every volume.
    ForgetsReach,
    /// They think that a volume for one pod is for many.
    SharesVolumes,
    /// They think that nodes attach any number of volumes.
    ForgetsLimits,
    /// They think that there is storage everywhere.
    ForgetsCapacity,
    /// They think that every claim has its volume.
    SkipsVolumes,
    /// They think that groups are in no tree.
    ForgetsParents,
    /// They think that the pods of workloads may be anywhere.
    ForgetsLevels,
    /// They think that partitions have no compatibility groups.
    ForgetsGroups,
}

impl Sabotage {
    /// Every mistake.
    pub const ALL: [Sabotage; 32] = [
        Sabotage::DeafToClaims,
        Sabotage::DeafToDepartures,
        Sabotage::TrustsRefusals,
        Sabotage::GivesUpUnclear,
        Sabotage::KeepsAnswers,
        Sabotage::MistakesAnswers,
        Sabotage::KeepsReservations,
        Sabotage::LeadsBlindly,
        Sabotage::SleepsOn,
        Sabotage::LeavesBoundPods,
        Sabotage::ForgetsToRelease,
        Sabotage::KeepsAllocations,
        Sabotage::KeepsProtection,
        Sabotage::KeepsMadeClaims,
        Sabotage::ReportsBeforeUndoing,
        Sabotage::RunsUnprepared,
        Sabotage::ForgetsCheckpoint,
        Sabotage::BindsUnready,
        Sabotage::DeafToBudgets,
        Sabotage::DeafToTaintRules,
        Sabotage::DeafToTaints,
        Sabotage::DeafToNamespaces,
        Sabotage::DeafToServices,
        Sabotage::MistakesPriorities,
        Sabotage::ForgetsReach,
        Sabotage::SharesVolumes,
        Sabotage::ForgetsLimits,
        Sabotage::ForgetsCapacity,
        Sabotage::SkipsVolumes,
        Sabotage::ForgetsParents,
        Sabotage::ForgetsLevels,
        Sabotage::ForgetsGroups,
    ];
}

/// The first world that may have gangs. Those before it are what they were before there were any.
const GANGS_FROM: u64 = 300;

/// What a world is like.
#[derive(Clone, Debug)]
pub(crate) struct WorldSetup {
    pub arrangement: Arrangement,
    pub devices: Devices,
    pub groups: Groups,
    /// Devices have to be made ready once they are chosen.
    pub readied: bool,
    pub sabotage: Sabotage,
    /// Many pods belong to gangs.
    pub gangs: bool,
    /// What it has that not every world has.
    pub extras: BTreeSet<Extra>,
    pub nodes: usize,
    /// How much work schedulers do at once for a pod or gang, in nominal nanoseconds; what takes longer is considered meanwhile. With
    /// nothing, as much as usual, which is enough for all that happens here.
    pub slice_max: Option<u64>,
    /// How often those who use the cluster do something.
    pub acts: u32,
    /// How often a write that was refused for the moment is tried again.
    pub tries_max: u32,
    /// How often each fault occurs, in a thousand chances.
    odds: BTreeMap<Fault, u32>,
    pub counts: Faults,
    /// No more faults.
    pub calm: bool,
}

impl WorldSetup {
    pub fn new(seed: u64, sabotage: Sabotage) -> WorldSetup {
        let mut dice = Dice::new(seed, 1);
        let arrangement = match (sabotage, dice.below(10)) {
            (Sabotage::LeadsBlindly, _) => Arrangement::Replicas,
            (Sabotage::MistakesAnswers, _) => Arrangement::Rivals,
            (_, 0..=4) => Arrangement::Alone,
            (_, 5..=7) => Arrangement::Replicas,
            _ => Arrangement::Rivals,
        };
        let devices = match (sabotage, dice.below(5)) {
            (Sabotage::ForgetsGroups, _) | (_, 3) => Devices::Partitioned,
            (_, 0..=2) => Devices::Whole,
            _ => Devices::Shared,
        };
        let groups = match (sabotage, devices) {
            (Sabotage::ForgetsGroups, _) => Groups::Kept,
            (_, Devices::Partitioned) => Groups::of_world(seed),
            (_, Devices::Whole | Devices::Shared) => Groups::None,
        };
        // Some worlds are nearly free of faults, and some are full of them.
        let strength = [0, 1, 2, 4][dice.below(4)];
        let usual = [
            (Fault::Conflict, 40),
            (Fault::Busy, 30),
            (Fault::NeverArrived, 20),
            (Fault::LostAnswer, 30),
            (Fault::LateArrival, 15),
            (Fault::LateAnswer, 60),
            (Fault::StaleRead, 150),
            (Fault::RepeatedEvent, 30),
            (Fault::LateEvent, 40),
            (Fault::BrokenWatch, 15),
            (Fault::Crash, 20),
            (Fault::TakeOver, 20),
            (Fault::ControllerCrash, 20),
            (Fault::NodeCrash, 15),
            (Fault::DriverCrash, 15),
        ];
        let mut odds: BTreeMap<Fault, u32> =
            usual.iter().map(|(fault, odds)| (*fault, odds * strength)).collect();
        // And in some a single fault is everywhere.
        if let Some((fault, usual)) = dice.pick(&usual).filter(|_| strength < 2) {
            odds.insert(*fault, usual * 8);
        }
        // Of numbers of its own, so that the other worlds stay what they were.
        let slices = [None, Some(0), Some(2_000), Some(20_000)];
        let slice_max = slices[Dice::new(seed, 9).below(4)].filter(|_| sabotage == Sabotage::None);
        odds.insert(Fault::NoVerdict, 30 * strength);
        if sabotage == Sabotage::LeadsBlindly {
            odds.extend([(Fault::TakeOver, 120), (Fault::LateEvent, 400)]);
        }
        let needs_gangs = matches!(sabotage, Sabotage::ForgetsParents | Sabotage::ForgetsLevels);
        let gangs = seed >= GANGS_FROM || needs_gangs;
        // Gangs stay in a rack, of which there are two.
        let nodes = 2 + dice.below(2) + usize::from(gangs);
        let acts = 35 + u32::try_from(dice.below(30)).unwrap_or_default();
        let tries_max = [0, 0, 1, 3][dice.below(4)];
        WorldSetup {
            tries_max,
            arrangement,
            devices,
            groups,
            // Of numbers of its own, so that the other worlds stay what they were.
            readied: Dice::new(seed, 4).below(3) == 0 || sabotage == Sabotage::BindsUnready,
            sabotage,
            gangs,
            extras: extras::of_world(seed, sabotage, gangs),
            nodes,
            slice_max,
            acts,
            odds,
            counts: Faults::new(),
            calm: false,
        }
    }

    /// A world in which nothing goes wrong by chance, and nobody does anything by chance.
    pub fn quiet(sabotage: Sabotage) -> WorldSetup {
        WorldSetup {
            arrangement: Arrangement::Alone,
            devices: Devices::Whole,
            groups: Groups::None,
            readied: false,
            sabotage,
            gangs: false,
            extras: BTreeSet::new(),
            nodes: 2,
            slice_max: None,
            acts: 0,
            tries_max: 3,
            odds: BTreeMap::new(),
            counts: Faults::new(),
            calm: false,
        }
    }

    /// Has a fault occur at each chance.
    #[cfg(test)]
    pub fn strike_always(&mut self, fault: Fault) {
        self.odds.insert(fault, 1_000);
    }

    /// Whether it has something that not every world has.
    pub fn has(&self, extra: Extra) -> bool {
        self.extras.contains(&extra)
    }

    /// Whether a fault occurs at this chance.
    pub fn strikes(&mut self, fault: Fault, dice: &mut Dice) -> bool {
        let odds = self.odds.get(&fault).copied().unwrap_or_default();
        let strikes = dice.per_mille(odds) && !self.calm;
        if strikes {
            *self.counts.entry(fault).or_default() += 1;
        }
        strikes
    }
}
