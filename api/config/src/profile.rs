//! Profiles: each is a scheduler of its own as far as pods can tell.
//!
//! Invariant: of the profiles that come out of a file, each has a name that no other has, exactly one plugin that sorts
//! the queue, and at least one that binds. Kubernetes also wants the same sorting everywhere; as there is one plugin that
//! sorts, this follows.

use gates::Gates;

use crate::fault::{Faults, Problem};
use crate::fields::{Fields, Item};
use crate::merge::PluginSets;
use crate::{Args, Plugins, Point, args, defaults, plugin_sets};

/// The name that pods have in `spec.schedulerName` unless they say otherwise.
pub(crate) const DEFAULT_NAME: &str = "default-scheduler";

/// How the pods that ask for a scheduler by a name are scheduled.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The name that pods ask for.
    pub scheduler_name: String,
    /// How many of all nodes, in percent, are to be found good before the search ends; zero leaves it to the size of the
    /// cluster. Where the profile says nothing this is the percentage of the whole file.
    pub percentage_of_nodes_to_score: u8,
    /// What runs at each point.
    pub plugins: Plugins,
    /// What the plugins were told.
    pub args: Args,
}

impl Profile {
    /// A profile about which nothing was said.
    pub(crate) fn defaults(percentage_of_nodes_to_score: u8, gates: Gates) -> Self {
        Self {
            scheduler_name: DEFAULT_NAME.to_owned(),
            percentage_of_nodes_to_score,
            plugins: Plugins::merged(&defaults::plugins(gates), &PluginSets::default()),
            args: Args::defaults(gates),
        }
    }
}

/// Reads `profiles`; without any there is one, about which nothing was said.
pub(crate) fn read(file: &Fields<'_>, percentage: u8, gates: Gates, faults: &mut Faults) -> Vec<Profile> {
    let mut names = Vec::new();
    let mut profiles = file.list("profiles", faults, |item, faults| {
        let (profile, name) = profile(item, percentage, gates, faults)?;
        names.push(name);
        Some((profile, item.at))
    });
    // Only a profile that is alone may do without a name.
    if let ([(profile, _)], [None]) = (profiles.as_mut_slice(), names.as_slice()) {
        DEFAULT_NAME.clone_into(&mut profile.scheduler_name);
    } else {
        for (index, (_, at)) in profiles.iter().enumerate() {
            let list = file.item.path.field("profiles");
            let path = list.index(index);
            let path = path.field("schedulerName");
            match &names[index] {
                None => {
                    let hint = "each of several profiles needs its own name";
                    faults.add(*at, &path, Problem::Required { hint });
                }
                Some((name, at)) if names[..index].iter().flatten().any(|(earlier, _)| earlier == name) => {
                    faults.add(*at, &path, Problem::Rule("an earlier profile has this name"));
                }
                Some(_) => {}
            }
        }
    }
    if profiles.is_empty() {
        return vec![Profile::defaults(percentage, gates)];
    }
    profiles.into_iter().map(|(profile, _)| profile).collect()
}

type Name = Option<(String, crate::Place)>;

fn profile(item: &Item<'_>, percentage: u8, gates: Gates, faults: &mut Faults) -> Option<(Profile, Name)> {
    let known = ["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"];
    let fields = item.fields(&known, faults)?;
    let name = fields.get("schedulerName");
    let name = name.and_then(|name| name.text(faults).map(|text| (text.to_owned(), name.at)));
    if name.as_ref().is_some_and(|(name, _)| name.is_empty()) {
        let hint = "set it to the spec.schedulerName of pods";
        fields.fault("schedulerName", Problem::Required { hint }, faults);
    }
    let sets = fields.get("plugins").map(|item| plugin_sets::read(item, faults)).unwrap_or_default();
    let plugins = Plugins::merged(&defaults::plugins(gates), &sets);
    if plugins.at(Point::QueueSort).is_empty() {
        let problem = Problem::Rule("no plugin sorts the queue; hint: enable PrioritySort at queueSort");
        fields.fault("plugins", problem, faults);
    }
    if plugins.at(Point::Bind).is_empty() {
        let problem = Problem::Rule("no plugin binds pods; hint: enable DefaultBinder at bind");
        fields.fault("plugins", problem, faults);
    }
    let profile = Profile {
        scheduler_name: name.as_ref().map(|(name, _)| name.clone()).unwrap_or_default(),
        percentage_of_nodes_to_score: self::percentage(&fields, faults).unwrap_or(percentage),
        plugins,
        args: args::read(&fields, gates, faults),
    };
    Some((profile, name))
}

/// Reads `percentageOfNodesToScore`.
pub(crate) fn percentage(fields: &Fields<'_>, faults: &mut Faults) -> Option<u8> {
    let percentage = fields.whole("percentageOfNodesToScore", 0..=100, faults)?;
    Some(u8::try_from(percentage).expect("at most one hundred"))
}
