//! The settings of the engine from the configuration file of a scheduler.
//!
//! Invariant: this is the one place where plugins of Kubernetes become filters and scores of ours. A filter is on if its
//! plugin runs at the point `filter`, and a score counts if its plugin runs at the point `score`.

use std::sync::Arc;
use std::time::Duration;

use config::{
    Args, BindingFailurePolicy, DefaultConstraint, DefaultConstraints, NodeResourcesFit, PlacementScorer,
    Plugin, Plugins, Point, SchedulerSettings, ScoringStrategy,
};
use decisions::filters::{Filter, FilterSet, FilterSettings};
use decisions::placement_scores::{PlacementScore, PlacementSettings};
use decisions::preempt::PreemptionSettings;
use decisions::profile::{BINDING_TIMEOUT_MS, Profile};
use decisions::scores::resources::{Aim, Strategy};
use decisions::scores::{Score, ScoreSettings};
use decisions::settings::{Patience, Settings};
use gates::{Gate, Gates};
use model::group::BindingFailure;
use model::pod::{LabelSelector, Spread};

/// How many steps a search for devices on one node may take for each second that the file allows for it. Steps take less
/// than ten microseconds, and unlike time they are the same on every machine.
const STEPS_PER_SECOND: u64 = 100_000;

/// The engine's settings. Gates have had their say in the file already, where they decide which plugins run by default.
#[must_use]
pub fn settings(file: &SchedulerSettings, gates: Gates) -> Settings {
    Settings {
        profiles: file.profiles.iter().map(|profile| Arc::new(self::profile(profile, gates))).collect(),
        gates,
        patience: Patience {
            backoff_ms_min: millis(file.backoff.initial),
            backoff_ms_max: millis(file.backoff.max),
            ..Patience::default()
        },
        search_steps_max: file.profiles.iter().map(search_steps).max().unwrap_or(u64::MAX),
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

fn search_steps(profile: &config::Profile) -> u64 {
    let Some(limit) = profile.args.dynamic_resources.filter_limit() else { return u64::MAX };
    let steps = limit.as_millis().saturating_mul(u128::from(STEPS_PER_SECOND)) / 1_000;
    u64::try_from(steps).unwrap_or(u64::MAX).max(1)
}

fn profile(profile: &config::Profile, gates: Gates) -> Profile {
    let config::Profile { scheduler_name, plugins, args, .. } = profile;
    Profile {
        name: scheduler_name.as_str().into(),
        filters: filters(plugins, args, gates),
        scores: scores(plugins, args, gates),
        preemption: plugins
            .at(Point::PostFilter)
            .contains(&Plugin::DefaultPreemption)
            .then(|| preemption(args)),
        placement: placement(args),
        binding_failure: match args.gangs.binding_failure_policy {
            Some(BindingFailurePolicy::Replace) => BindingFailure::Replace,
            Some(BindingFailurePolicy::Release) => BindingFailure::Release,
            None => BindingFailure::default(),
        },
        heeds_gates: plugins.at(Point::PreEnqueue).contains(&Plugin::SchedulingGates),
        binding_timeout_ms: args.dynamic_resources.binding_timeout.map_or(BINDING_TIMEOUT_MS, millis),
    }
}

fn placement(args: &Args) -> PlacementSettings {
    let score = |scorer: PlacementScorer| match scorer {
        PlacementScorer::TightestFit => PlacementScore::TightestFit,
        PlacementScorer::LooseFit => PlacementScore::LooseFit,
        PlacementScorer::FewestDomains => PlacementScore::FewestDomains,
        PlacementScorer::FewestNodes => PlacementScore::FewestNodes,
        PlacementScorer::LeastFragments => PlacementScore::LeastFragments,
        PlacementScorer::MostMembers => PlacementScore::MostMembers,
    };
    if args.gangs.placement_scorers.is_empty() {
        return PlacementSettings::default();
    }
    let weights = args.gangs.placement_scorers.iter().map(|one| (score(one.scorer), one.weight));
    PlacementSettings { weights: weights.collect() }
}

fn preemption(args: &Args) -> PreemptionSettings {
    let count = |number: u32| usize::try_from(number).unwrap_or(usize::MAX);
    PreemptionSettings {
        candidates_percent_min: count(args.default_preemption.min_candidate_nodes_percentage),
        candidates_min: count(args.default_preemption.min_candidate_nodes_absolute),
    }
}

/// Our filters by the plugin that stands for each. The node that a pod names needs none: such a pod is bound already.
const FILTERS: [(Plugin, Filter); 12] = [
    (Plugin::NodeUnschedulable, Filter::Unschedulable),
    (Plugin::TaintToleration, Filter::Taints),
    (Plugin::NodeAffinity, Filter::NodeAffinity),
    (Plugin::NodePorts, Filter::Ports),
    (Plugin::NodeResourcesFit, Filter::Resources),
    (Plugin::VolumeRestrictions, Filter::ExclusiveVolumes),
    (Plugin::VolumeBinding, Filter::Volumes),
    (Plugin::VolumeZone, Filter::VolumeZones),
    (Plugin::PodTopologySpread, Filter::Spread),
    (Plugin::InterPodAffinity, Filter::PodAffinity),
    (Plugin::DynamicResources, Filter::Devices),
    (Plugin::NodeDeclaredFeatures, Filter::Features),
];

/// The plugins that stand for filters, by the names that Kubernetes has for them.
pub fn plugins_of(filters: FilterSet) -> impl Iterator<Item = &'static str> {
    let named = FILTERS.iter().filter(move |(_, filter)| filters.contains(*filter));
    named.map(|(plugin, _)| plugin.name())
}

fn filters(plugins: &Plugins, args: &Args, gates: Gates) -> FilterSettings {
    let is_off = |plugin: &Plugin| !plugins.filters().contains(plugin);
    let off = FILTERS.iter().filter(|(plugin, _)| is_off(plugin)).map(|(_, filter)| *filter);
    let added = args.added_affinity.as_ref();
    let shared = |names: &[String]| names.iter().map(|name| name.as_str().into()).collect();
    FilterSettings {
        off: off.collect(),
        enforced_nodes: added.and_then(|added| added.required.clone()),
        ignored_resources: shared(&args.fit.ignored_resources),
        ignored_groups: shared(&args.fit.ignored_resource_groups),
        compares_taints: gates.enabled(Gate::TaintTolerationComparisonOperators),
        default_spread: default_spread(&args.default_constraints, true),
        ..FilterSettings::default()
    }
}

/// The score that a plugin stands for.
fn score(plugin: Plugin) -> Option<Score> {
    Some(match plugin {
        Plugin::TaintToleration => Score::Taints,
        Plugin::NodeAffinity => Score::NodeAffinity,
        Plugin::NodeResourcesFit => Score::Resources,
        Plugin::PodTopologySpread => Score::Spread,
        Plugin::InterPodAffinity => Score::PodAffinity,
        Plugin::NodeResourcesBalancedAllocation => Score::Balanced,
        Plugin::ImageLocality => Score::Images,
        Plugin::DynamicResources => Score::Devices,
        Plugin::ReadyDevices => Score::ReadyDevices,
        _ => return None,
    })
}

fn scores(plugins: &Plugins, args: &Args, gates: Gates) -> ScoreSettings {
    let weight = |plugin: &Plugin| Some((score(*plugin)?, *plugins.score_weights.get(plugin)?));
    let added = args.added_affinity.as_ref();
    ScoreSettings {
        weights: plugins.at(Point::Score).iter().filter_map(weight).collect(),
        strategy: strategy(&args.fit),
        balanced: args.balanced_resources.iter().map(|name| name.as_str().into()).collect(),
        preferred_nodes: added.map(|added| added.preferred.clone()).unwrap_or_default(),
        required_near: args.inter_pod_affinity.hard_pod_affinity_weight,
        ignores_wishes_of_others: args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods,
        compares_taints: gates.enabled(Gate::TaintTolerationComparisonOperators),
        default_spread: default_spread(&args.default_constraints, false),
        default_spread_needs_labels: args.default_constraints != DefaultConstraints::System,
    }
}

fn strategy(fit: &NodeResourcesFit) -> Strategy {
    // The file counts what use is worth up to ten, and nodes are scored up to a hundred.
    let point = |point: &config::ShapePoint| (i64::from(point.utilization), i64::from(point.score) * 10);
    Strategy {
        aim: match &fit.strategy {
            ScoringStrategy::LeastAllocated => Aim::Spread,
            ScoringStrategy::MostAllocated => Aim::Pack,
            ScoringStrategy::RequestedToCapacityRatio(points) => {
                Aim::Curve(points.iter().map(point).collect())
            }
        },
        resources: fit
            .resources
            .iter()
            .map(|resource| (resource.name.as_str().into(), resource.weight))
            .collect(),
    }
}

/// Default constraints that must be kept, or those that are wishes. That they may narrow down the pods by labels has no
/// effect, as in Kubernetes: the pods are those of services and owners.
fn default_spread(constraints: &DefaultConstraints, required: bool) -> Vec<Spread> {
    let rule = |constraint: DefaultConstraint| Spread {
        max_skew: constraint.max_skew,
        key: constraint.key,
        required,
        selector: LabelSelector::Nothing,
        min_domains: constraint.min_domains.unwrap_or(1),
        honor_affinity: constraint.honor_affinity,
        honor_taints: constraint.honor_taints,
    };
    let all = constraints.constraints().into_iter();
    all.filter(|constraint| constraint.required == required).map(rule).collect()
}
