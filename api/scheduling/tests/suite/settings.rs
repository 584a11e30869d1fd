//! A configuration file must change what the engine does, not only be read.

use std::sync::Arc;

use config::SchedulerSettings;
use decisions::filters::{Filter, FilterSettings};
use decisions::profile::Profile;
use decisions::scores::resources::Aim;
use decisions::scores::{Score, ScoreSettings};
use decisions::settings::Patience;
use decisions::settings::Settings;
use gates::{Gate, Gates};
use scheduling::settings;

fn read_with(body: &str, gates: Gates) -> Settings {
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let file = SchedulerSettings::read(&format!("{head}{body}"), gates);
    settings(&file.expect("the file is good"), gates)
}

fn read(body: &str) -> Settings {
    read_with(body, Gates::default())
}

/// The one profile of a file that says this about it.
fn profile(body: &str) -> Arc<Profile> {
    let indented: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let settings = read(&format!("profiles:\n  - schedulerName: default-scheduler\n{indented}"));
    settings.profiles[0].clone()
}

#[test]
fn without_a_file_everything_is_as_the_engine_has_it_by_default() {
    let settings = settings(&SchedulerSettings::default(), Gates::default());
    let [profile] = settings.profiles.as_slice() else { panic!("there is one profile") };
    assert_eq!(&*profile.name, "default-scheduler");
    assert!(profile.heeds_gates);
    assert_eq!(profile.filters, FilterSettings::default());
    assert_eq!(profile.scores, ScoreSettings::default());
    assert_eq!(settings.patience, Patience::default());
    assert_eq!(settings.patience.sleep_ms_max, 300_000);
    assert_eq!(settings.search_steps_max, 1_000_000);
}

#[test]
fn a_plugin_that_is_disabled_takes_its_filter_and_its_score_with_it() {
    let table = [
        ("NodeUnschedulable", Some(Filter::Unschedulable), None),
        ("TaintToleration", Some(Filter::Taints), Some(Score::Taints)),
        ("NodeAffinity", Some(Filter::NodeAffinity), Some(Score::NodeAffinity)),
        ("NodePorts", Some(Filter::Ports), None),
        ("NodeResourcesFit", Some(Filter::Resources), Some(Score::Resources)),
        ("VolumeRestrictions", Some(Filter::ExclusiveVolumes), None),
        ("VolumeBinding", Some(Filter::Volumes), None),
        ("VolumeZone", Some(Filter::VolumeZones), None),
        ("PodTopologySpread", Some(Filter::Spread), Some(Score::Spread)),
        ("InterPodAffinity", Some(Filter::PodAffinity), Some(Score::PodAffinity)),
        ("DynamicResources", Some(Filter::Devices), Some(Score::Devices)),
        ("NodeDeclaredFeatures", Some(Filter::Features), None),
        ("NodeResourcesBalancedAllocation", None, Some(Score::Balanced)),
        ("ImageLocality", None, Some(Score::Images)),
        ("ReadyDevices", None, Some(Score::ReadyDevices)),
    ];
    for (plugin, filter, score) in table {
        let without = profile(&format!("plugins: {{multiPoint: {{disabled: [{{name: {plugin}}}]}}}}"));
        for (_, other, _) in table {
            let Some(other) = other else { continue };
            assert_eq!(without.filters.has(other), filter != Some(other), "{plugin}: {other:?}");
        }
        let left = ScoreSettings::default().weights.into_iter().filter(|(kind, _)| Some(*kind) != score);
        assert_eq!(without.scores.weights, left.collect::<Vec<_>>(), "{plugin}");
    }
    let ungated = profile("plugins: {multiPoint: {disabled: [{name: SchedulingGates}]}}");
    assert!(!ungated.heeds_gates);
    let gentle = profile("plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}");
    assert_eq!((ungated.preemption.is_some(), gentle.preemption), (true, None));
}

#[test]
fn filters_and_scores_of_a_plugin_can_be_disabled_one_by_one() {
    let mixed = profile(
        "plugins:\n  filter: {disabled: [{name: TaintToleration}]}\n  score: {disabled: [{name: '*'}], enabled: [{name: \
         ImageLocality, weight: 7}]}",
    );
    assert!(!mixed.filters.has(Filter::Taints) && mixed.filters.has(Filter::Resources));
    assert_eq!(mixed.scores.weights, [(Score::Images, 7)]);
    let heavy = profile("plugins: {multiPoint: {enabled: [{name: NodeResourcesFit, weight: 10}]}}");
    assert!(heavy.scores.weights.contains(&(Score::Resources, 10)));
}

#[test]
fn gates_switch_filters_off_too() {
    for (gate, filter) in
        [(Gate::NodeDeclaredFeatures, Filter::Features), (Gate::DynamicResourceAllocation, Filter::Devices)]
    {
        let settings = read_with("", Gates::default().with(gate, false));
        assert!(!settings.profiles[0].filters.has(filter), "{gate:?}");
    }
}

#[test]
fn each_profile_has_arguments_of_its_own() {
    let settings = read(
        "
profiles:
  - schedulerName: spreading
  - schedulerName: packing
    pluginConfig:
      - name: NodeResourcesFit
        args:
          ignoredResources: [example.com/foo]
          ignoredResourceGroups: [example.org]
          scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 3}, {name: example.com/gpu, weight: 5}]}
      - name: NodeResourcesBalancedAllocation
        args: {resources: [{name: example.com/gpu, weight: 1}]}
      - name: InterPodAffinity
        args: {hardPodAffinityWeight: 42, ignorePreferredTermsOfExistingPods: true}
",
    );
    let [spreading, packing] = settings.profiles.as_slice() else { panic!("two profiles") };
    assert_eq!((&*spreading.name, &*packing.name), ("spreading", "packing"));
    assert_eq!(spreading.scores.strategy, ScoreSettings::default().strategy);
    assert_eq!(packing.scores.strategy.aim, Aim::Pack);
    assert_eq!(packing.scores.strategy.resources, [("cpu".into(), 3), ("example.com/gpu".into(), 5)]);
    assert_eq!(packing.filters.ignored_resources, ["example.com/foo".into()].into());
    assert_eq!(packing.filters.ignored_groups, ["example.org".into()].into());
    assert_eq!(packing.scores.balanced, ["example.com/gpu".into()]);
    assert_eq!((packing.scores.required_near, packing.scores.ignores_wishes_of_others), (42, true));
    assert_eq!((spreading.scores.required_near, spreading.scores.ignores_wishes_of_others), (1, false));
}

#[test]
fn a_curve_is_worth_ten_times_what_the_file_says() {
    let curved = profile(
        "
pluginConfig:
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: RequestedToCapacityRatio
        requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 70, score: 10}]}",
    );
    assert_eq!(curved.scores.strategy.aim, Aim::Curve(vec![(0, 0), (70, 100)]));
}

#[test]
fn added_affinity_counts_for_every_pod() {
    let added = profile(
        "
pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: In, values: [batch]}]}]
        preferredDuringSchedulingIgnoredDuringExecution:
          - {weight: 5, preference: {matchExpressions: [{key: disk, operator: Exists}]}}",
    );
    assert_eq!(added.filters.enforced_nodes.as_ref().map(|nodes| nodes.terms.len()), Some(1));
    assert_eq!(added.scores.preferred_nodes.iter().map(|(weight, _)| *weight).collect::<Vec<_>>(), [5]);
}

#[test]
fn default_constraints_become_rules_and_wishes() {
    let listed = profile(
        "
pluginConfig:
  - name: PodTopologySpread
    args:
      defaultingType: List
      defaultConstraints:
        - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3, nodeTaintsPolicy: Honor}
        - {maxSkew: 2, topologyKey: rack, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: Ignore}",
    );
    let [rule] = listed.filters.default_spread.as_slice() else { panic!("one rule") };
    assert_eq!((rule.max_skew, &*rule.key, rule.min_domains), (1, "zone", 3));
    assert!(rule.required && rule.honor_affinity && rule.honor_taints);
    let [wish] = listed.scores.default_spread.as_slice() else { panic!("one wish") };
    assert_eq!((wish.max_skew, &*wish.key, wish.min_domains), (2, "rack", 1));
    assert!(!wish.required && !wish.honor_affinity && !wish.honor_taints);
    assert!(listed.scores.default_spread_needs_labels);
    let none = profile("pluginConfig: [{name: PodTopologySpread, args: {defaultingType: List}}]");
    assert!(none.filters.default_spread.is_empty() && none.scores.default_spread.is_empty());
    let system = profile("pluginConfig: [{name: PodTopologySpread, args: {defaultingType: System}}]");
    assert_eq!(system.scores.default_spread, ScoreSettings::default().default_spread);
    assert!(!system.scores.default_spread_needs_labels);
}

#[test]
fn times_are_those_of_the_file() {
    let settings = read("podInitialBackoffSeconds: 3\npodMaxBackoffSeconds: 60\n");
    assert_eq!((settings.patience.backoff_ms_min, settings.patience.backoff_ms_max), (3_000, 60_000));
}

#[test]
fn a_search_for_devices_is_as_long_as_the_most_patient_profile_allows() {
    let limited = |limits: &[&str]| {
        let profiles = limits.iter().enumerate().map(|(at, limit)| {
            format!(
                "  - schedulerName: s{at}\n    pluginConfig: [{{name: DynamicResources, args: {{filterTimeout: \
                 {limit}}}}}]\n"
            )
        });
        read(&format!("profiles:\n{}", profiles.collect::<String>())).search_steps_max
    };
    assert_eq!(limited(&["2s"]), 200_000);
    assert_eq!(limited(&["2s", "500ms"]), 200_000);
    assert_eq!(limited(&["2s", "0s"]), u64::MAX);
    assert_eq!(limited(&["1us"]), 1);
}
