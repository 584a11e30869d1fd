//! What a scheduler does when nothing is said: the plugins, order, weights and numbers of Kubernetes 1.37.

use std::time::Duration;

use config::{DefaultConstraints, Plugin, Point, SchedulerSettings, ScoringStrategy};
use gates::{Gate, Gates};

fn names(settings: &SchedulerSettings, point: Point) -> Vec<&'static str> {
    settings.profiles[0].plugins.at(point).iter().map(|plugin| plugin.name()).collect()
}

#[test]
fn every_point_has_the_plugins_of_kubernetes_in_their_order() {
    let settings = SchedulerSettings::default();
    let filters = [
        "NodeName",
        "NodeUnschedulable",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "VolumeRestrictions",
        "NodeVolumeLimits",
        "VolumeBinding",
        "VolumeZone",
        "PodTopologySpread",
        "InterPodAffinity",
        "DynamicResources",
        "NodeDeclaredFeatures",
    ];
    assert_eq!(names(&settings, Point::PreFilter), filters);
    assert_eq!(names(&settings, Point::Filter), filters);
    assert_eq!(settings.profiles[0].plugins.filters(), settings.profiles[0].plugins.at(Point::Filter));
    let expected: [(Point, &[&str]); 12] = [
        (Point::PreEnqueue, &["SchedulingGates", "DynamicResources", "DefaultPreemption"]),
        (Point::QueueSort, &["PrioritySort"]),
        (Point::PostFilter, &["DynamicResources", "DefaultPreemption"]),
        (
            Point::PreScore,
            &[
                "TaintToleration",
                "NodeAffinity",
                "NodeResourcesFit",
                "VolumeBinding",
                "PodTopologySpread",
                "InterPodAffinity",
                "NodeResourcesBalancedAllocation",
            ],
        ),
        (Point::Reserve, &["VolumeBinding", "DynamicResources"]),
        (Point::Permit, &[]),
        (Point::PreBind, &["VolumeBinding", "DynamicResources"]),
        (Point::Bind, &["DefaultBinder"]),
        (Point::PostBind, &[]),
        (Point::PlacementGenerate, &[]),
        (Point::PlacementScore, &["NodeResourcesFit"]),
        (Point::PodGroupPostFilter, &["DynamicResources", "DefaultPreemption"]),
    ];
    for (point, plugins) in expected {
        assert_eq!(names(&settings, point), plugins, "{point}");
    }
}

#[test]
fn the_ranking_has_the_weights_of_kubernetes() {
    let plugins = &SchedulerSettings::default().profiles[0].plugins;
    let weights: Vec<_> = plugins
        .at(Point::Score)
        .iter()
        .map(|plugin| (plugin.name(), plugins.score_weights[plugin]))
        .collect();
    let expected = [
        ("TaintToleration", 3),
        ("NodeAffinity", 2),
        ("NodeResourcesFit", 1),
        ("VolumeBinding", 1),
        ("PodTopologySpread", 2),
        ("InterPodAffinity", 2),
        ("DynamicResources", 2),
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("ReadyDevices", 3),
    ];
    assert_eq!(weights, expected);
    assert_eq!(plugins.score_weights.len(), expected.len());
}

#[test]
fn gates_bring_their_plugins() {
    let with = |gates: &[Gate]| {
        let gates = gates.iter().fold(Gates::default(), |gates, gate| gates.with(*gate, true));
        SchedulerSettings::defaults(gates)
    };
    let gangs = with(&[Gate::GenericWorkload]);
    assert_eq!(
        names(&gangs, Point::PreEnqueue),
        ["SchedulingGates", "DynamicResources", "DefaultPreemption", "GangScheduling"]
    );
    assert_eq!(names(&gangs, Point::Permit), ["GangScheduling"]);

    let topology = with(&[Gate::GenericWorkload, Gate::TopologyAwareWorkloadScheduling]);
    assert_eq!(names(&topology, Point::PlacementGenerate), ["TopologyPlacementGenerator"]);
    assert_eq!(names(&topology, Point::PlacementScore), ["NodeResourcesFit", "PodGroupPodsCount"]);
    assert_eq!(topology.profiles[0].plugins.placement_score_weights[&Plugin::PodGroupPodsCount], 1);

    let resizing = with(&[Gate::InPlacePodVerticalScalingSchedulerPreemption]);
    assert_eq!(
        names(&resizing, Point::Filter)[4..7],
        ["NodePorts", "DeferredPodScheduling", "NodeResourcesFit"]
    );
    assert!(!SchedulerSettings::default().profiles[0].plugins.has(Plugin::GangScheduling));
}

#[test]
fn numbers_are_those_of_kubernetes() {
    let settings = SchedulerSettings::default();
    assert_eq!(settings.parallelism, 16);
    assert_eq!(settings.percentage_of_nodes_to_score, 0);
    assert_eq!(settings.backoff.initial, Duration::from_secs(1));
    assert_eq!(settings.backoff.max, Duration::from_secs(10));
    assert!(settings.profiling.enabled && settings.profiling.contention);
    assert!(!settings.delay_cache_until_active);
    let election = &settings.leader_election;
    assert!(election.elect);
    assert_eq!(
        [election.lease_duration, election.renew_deadline, election.retry_period],
        [15, 10, 2].map(Duration::from_secs)
    );
    assert_eq!((&*election.resource_namespace, &*election.resource_name), ("kube-system", "kube-scheduler"));
    assert_eq!(election.faults(), []);
    assert_eq!((settings.client.queries_per_second, settings.client.burst), (None, 100));
    assert_eq!(settings.client.content_type, "application/vnd.kubernetes.protobuf");

    assert_eq!(settings.profiles.len(), 1);
    assert!(settings.profile("default-scheduler").is_some() && settings.profile("other").is_none());
    let args = &settings.profiles[0].args;
    assert_eq!(args.default_preemption.min_candidate_nodes_percentage, 10);
    assert_eq!(args.default_preemption.min_candidate_nodes_absolute, 100);
    assert_eq!(args.dynamic_resources.filter_limit(), Some(Duration::from_secs(10)));
    assert_eq!(args.dynamic_resources.binding_timeout, Some(Duration::from_secs(600)));
    assert_eq!(args.inter_pod_affinity.hard_pod_affinity_weight, 1);
    assert_eq!(args.added_affinity, None);
    assert_eq!(args.balanced_resources, ["cpu", "memory"]);
    assert_eq!(args.fit.strategy, ScoringStrategy::LeastAllocated);
    assert_eq!(args.default_constraints, DefaultConstraints::System);
    let system = args.default_constraints.constraints();
    assert_eq!(
        system.iter().map(|one| (&*one.key, one.max_skew)).collect::<Vec<_>>(),
        [("kubernetes.io/hostname", 3), ("topology.kubernetes.io/zone", 5)]
    );
    assert_eq!(args.volume_binding.bind_timeout, Duration::from_secs(600));
    assert_eq!(
        args.volume_binding.shape.iter().map(|p| (p.utilization, p.score)).collect::<Vec<_>>(),
        [(0, 10), (100, 0)]
    );
}

#[test]
fn a_text_with_nothing_in_it_means_the_defaults() {
    let defaults = SchedulerSettings::default();
    let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    let silent = format!("{head}profiles:\nleaderElection: {{}}\nclientConnection: {{qps: 0, burst: 0}}\n");
    for text in ["", "\n", "# nothing\n", "---\n", "null", head, &silent] {
        assert_eq!(SchedulerSettings::read(text, Gates::default()).as_ref(), Ok(&defaults), "{text:?}");
    }
}

#[test]
fn features_that_are_off_leave_no_limits_behind() {
    let gates = Gates::default()
        .with(Gate::DRASchedulerFilterTimeout, false)
        .with(Gate::DRADeviceBindingConditions, false)
        .with(Gate::StorageCapacityScoring, false);
    let settings = SchedulerSettings::defaults(gates);
    let args = &settings.profiles[0].args;
    assert_eq!((args.dynamic_resources.filter_timeout, args.dynamic_resources.binding_timeout), (None, None));
    assert_eq!(args.volume_binding.shape, []);
    assert_eq!(SchedulerSettings::read(&settings.render(), gates), Ok(settings));
}
