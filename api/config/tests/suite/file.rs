//! Whole files: what they come to, and that what is written reads back the same.

use std::time::Duration;

use config::{BindingFailurePolicy, DefaultConstraints, Plugin, Point, SchedulerSettings, ScoringStrategy};
use gates::Gates;
use model::node::Operator;

const FULL: &str = include_str!("../full.yaml");

fn read(text: &str) -> SchedulerSettings {
    SchedulerSettings::read(text, Gates::default()).expect("a valid file")
}

#[test]
fn a_full_file_is_understood() {
    let settings = read(FULL);
    assert_eq!(settings.parallelism, 32);
    assert_eq!(settings.leader_election.lease_duration, Duration::from_secs(60));
    assert_eq!(settings.leader_election.resource_name, "gpu-scheduler");
    assert_eq!(settings.leader_election.resource_namespace, "kube-system");
    assert_eq!(settings.client.queries_per_second, Some(200.5));
    assert_eq!(settings.client.burst, 400);
    assert!(!settings.profiling.enabled && !settings.profiling.contention);
    assert_eq!(settings.backoff.max, Duration::from_secs(30));
    assert!(settings.delay_cache_until_active);
    let names: Vec<_> = settings.profiles.iter().map(|profile| profile.scheduler_name.as_str()).collect();
    assert_eq!(names, ["default-scheduler", "gpu-scheduler"]);
    assert_eq!(settings.profiles[0].percentage_of_nodes_to_score, 50);
    assert_eq!(settings.profiles[0].args, SchedulerSettings::default().profiles[0].args);
    assert_eq!(settings.profiles[0].plugins, SchedulerSettings::default().profiles[0].plugins);

    let profile = settings.profile("gpu-scheduler").expect("the second profile");
    assert_eq!(profile.percentage_of_nodes_to_score, 100);
    assert!(!profile.plugins.has(Plugin::ImageLocality));
    assert_eq!(profile.plugins.at(Point::Score)[0], Plugin::NodeResourcesFit);
    assert_eq!(profile.plugins.score_weights[&Plugin::NodeResourcesFit], 10);
    assert_eq!(profile.plugins.score_weights[&Plugin::DynamicResources], 20);
}

#[test]
fn the_arguments_of_a_full_file_are_understood() {
    let settings = read(FULL);
    let args = &settings.profile("gpu-scheduler").expect("the second profile").args;
    assert_eq!(args.dynamic_resources.filter_limit(), None);
    assert_eq!(args.dynamic_resources.binding_timeout, Some(Duration::from_secs(90)));
    assert_eq!(args.default_preemption.min_candidate_nodes_percentage, 5);
    assert_eq!(args.default_preemption.min_candidate_nodes_absolute, 100);
    assert_eq!(args.inter_pod_affinity.hard_pod_affinity_weight, 0);
    assert!(args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods);
    assert_eq!(args.balanced_resources, ["cpu", "example.com/gpu"]);
    assert_eq!(args.fit.ignored_resources, ["example.com/foo"]);
    assert_eq!(args.fit.ignored_resource_groups, ["example.org"]);
    let ScoringStrategy::RequestedToCapacityRatio(shape) = &args.fit.strategy else {
        panic!("{:?}", args.fit.strategy)
    };
    assert_eq!(
        shape.iter().map(|point| (point.utilization, point.score)).collect::<Vec<_>>(),
        [(0, 0), (100, 10)]
    );
    let weights: Vec<_> = args.fit.resources.iter().map(|one| (one.name.as_str(), one.weight)).collect();
    assert_eq!(weights, [("example.com/gpu", 5), ("cpu", 1)]);
    let DefaultConstraints::List(constraints) = &args.default_constraints else { panic!("a list") };
    assert_eq!((&*constraints[0].key, constraints[0].max_skew, constraints[0].required), ("rack", 2, false));
    assert!(constraints[0].honor_affinity && constraints[0].honor_taints);
    let added = args.added_affinity.as_ref().expect("an added affinity");
    let required = added.required.as_ref().expect("a required part");
    assert_eq!(required.terms[0].labels[0].operator, Operator::In);
    assert_eq!(required.terms[0].fields[0].operator, Operator::NotIn);
    assert_eq!(added.preferred[0].0, 7);
    assert_eq!(args.volume_binding.bind_timeout, Duration::from_secs(120));
    assert_eq!(args.volume_binding.shape.len(), 2);
}

#[test]
fn json_means_the_same_as_yaml() {
    let settings = read(FULL);
    let json = settings.document();
    assert_eq!(read(&json.to_string()), settings);
    assert_eq!(read(&format!("{json:#}").replace("  ", "\t")), settings);
}

#[test]
fn a_mistake_in_json_has_its_place_too() {
    let text = "{\n\t\"apiVersion\": \"kubescheduler.config.k8s.io/v1\",\n\t\"kind\": \"KubeSchedulerConfiguration\",\n\
                \t\"paralelism\": 4\n}\n";
    let error = SchedulerSettings::read(text, Gates::default()).expect_err("a misspelt field");
    assert_eq!(
        error.to_string(),
        "line 4, column 2: paralelism: unknown field; hint: the nearest known field is parallelism"
    );
}

#[test]
fn what_is_written_reads_back_the_same() {
    for settings in [SchedulerSettings::default(), read(FULL), SchedulerSettings::defaults(Gates::all_on())] {
        let text = settings.render();
        assert_eq!(SchedulerSettings::read(&text, Gates::all_on()).as_ref(), Ok(&settings), "{text}");
    }
    let unlimited = read(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, clientConnection: {qps: -5}}",
    );
    assert_eq!(unlimited.client.queries_per_second, None);
    assert_eq!(read(&unlimited.render()), unlimited);
}

#[test]
fn what_is_written_shows_what_takes_effect() {
    let text = SchedulerSettings::default().render();
    for lines in [
        "apiVersion: kubescheduler.config.k8s.io/v1\n",
        "  leaseDuration: \"15s\"\n",
        "  qps: -1\n",
        "    bind:\n      enabled:\n      - name: DefaultBinder\n",
        "      - name: TaintToleration\n        weight: 3\n",
        "      bindingTimeout: \"10m0s\"\n",
        "      kind: NodeResourcesFitArgs\n",
    ] {
        assert!(text.contains(lines), "{lines:?} is not in\n{text}");
    }
}

#[test]
fn times_that_flags_changed_are_judged_again() {
    let mut election = SchedulerSettings::default().leader_election;
    election.lease_duration = Duration::from_secs(5);
    assert_eq!(election.faults(), [("leaseDuration", "must be longer than renewDeadline")]);
    election.retry_period = Duration::ZERO;
    assert_eq!(election.faults()[0], ("retryPeriod", "must be longer than zero"));
    election.elect = false;
    assert_eq!(election.faults(), []);
}

#[test]
fn scorers_of_placements_are_chosen_and_weighed_and_so_is_what_becomes_of_gangs_that_cannot_be_bound() {
    let file = |args: &str| {
        format!(
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nprofiles:\n- pluginConfig:\n  - name: GangScheduling\n    args: {args}\n"
        )
    };
    let settings = read(&file("{placementScorers: [{name: FewestNodes, weight: 3}, {name: TightestFit}]}"));
    let told: Vec<(&str, u32)> = settings.profiles[0]
        .args
        .gangs
        .placement_scorers
        .iter()
        .map(|one| (one.scorer.name(), one.weight))
        .collect();
    assert_eq!(told, [("FewestNodes", 3), ("TightestFit", 1)]);
    assert_eq!(read(&settings.render()), settings);
    for policy in BindingFailurePolicy::ALL {
        let settings = read(&file(&format!("{{bindingFailurePolicy: {}}}", policy.name())));
        assert_eq!(settings.profiles[0].args.gangs.binding_failure_policy, Some(policy));
        assert_eq!(read(&settings.render()), settings);
    }
    for (args, why) in [
        ("{bindingFailurePolicy: Retry}", "must be one of Replace, Release"),
        ("{placementScorers: [{name: Fewest}]}", "must be one of TightestFit, LooseFit"),
        ("{placementScorers: [{weight: 1}]}", "write the name of a scorer"),
        ("{placementScorers: [{name: FewestNodes, weight: 101}]}", "is 101 and must be"),
        ("{placementScorers: [{name: FewestNodes}, {name: FewestNodes}]}", "an earlier scorer has this name"),
    ] {
        let error = SchedulerSettings::read(&file(args), Gates::default()).expect_err("a mistake");
        assert!(error.to_string().contains(why), "{args}: {error}");
    }
}
