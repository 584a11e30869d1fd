//! What `/metrics` says, judged from outside: it parses, and names, types, labels and buckets are those of the table.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use telemetry::metrics::{
    BindingOutcome, CacheSize, Entity, Exposition, GangResult, Metrics, Pending, Point, Preemptor, Queue,
    Status, Verdict,
};

const MS: Duration = Duration::from_millis(1);

/// Name, type, labels, and for histograms the first bound, the factor and the number of bounds.
type Row = (&'static str, &'static str, &'static [&'static str], Option<(f64, f64, usize)>);

const PROFILED: &[&str] = &["result", "profile"];
const FROM_1_MS: Option<(f64, f64, usize)> = Some((0.001, 2.0, 15));
const FROM_100_US: Option<(f64, f64, usize)> = Some((0.0001, 2.0, 12));
const FROM_10_US: Option<(f64, f64, usize)> = Some((0.000_01, 1.5, 20));

/// As the Kubernetes scheduler 1.37 has them.
const TABLE: &[Row] = &[
    ("leader_election_master_status", "gauge", &["name"], None),
    ("kubernetes_feature_enabled", "gauge", &["name", "stage"], None),
    ("rest_client_requests_total", "counter", &["code", "method", "host"], None),
    ("scheduler_async_api_call_execution_duration_seconds", "histogram", &["call_type", "result"], FROM_1_MS),
    ("scheduler_async_api_call_execution_total", "counter", &["call_type", "result"], None),
    ("scheduler_cache_size", "gauge", &["type"], None),
    ("scheduler_dra_bindingconditions_allocations_total", "counter", &["profile", "driver", "status"], None),
    (
        "scheduler_dra_bindingconditions_wait_duration_seconds",
        "histogram",
        &["profile", "driver", "status"],
        Some((0.1, 2.0, 14)),
    ),
    (
        "scheduler_dra_bindingconditions_prebind_duration_seconds",
        "histogram",
        &["status", "requires_bindingconditions"],
        Some((0.1, 2.0, 14)),
    ),
    ("scheduler_event_handling_duration_seconds", "histogram", &["event"], FROM_100_US),
    (
        "scheduler_framework_extension_point_duration_seconds",
        "histogram",
        &["extension_point", "status", "profile"],
        FROM_100_US,
    ),
    ("scheduler_generated_placements_total", "counter", &["profile"], None),
    ("scheduler_goroutines", "gauge", &["operation"], None),
    ("scheduler_pending_async_api_calls", "gauge", &["call_type"], None),
    ("scheduler_pending_pods", "gauge", &["queue"], None),
    ("scheduler_placement_evaluation_duration_seconds", "histogram", PROFILED, FROM_1_MS),
    ("scheduler_placement_evaluations_total", "counter", PROFILED, None),
    (
        "scheduler_plugin_execution_duration_seconds",
        "histogram",
        &["plugin", "extension_point", "status"],
        FROM_10_US,
    ),
    ("scheduler_pod_scheduled_after_flush_total", "counter", &[], None),
    ("scheduler_pod_scheduling_attempts", "histogram", &[], Some((1.0, 2.0, 5))),
    ("scheduler_pod_scheduling_sli_duration_seconds", "histogram", &["attempts"], Some((0.01, 2.0, 20))),
    ("scheduler_podgroup_schedule_attempts_total", "counter", PROFILED, None),
    ("scheduler_podgroup_scheduling_algorithm_duration_seconds", "histogram", &[], FROM_1_MS),
    ("scheduler_podgroup_scheduling_attempt_duration_seconds", "histogram", PROFILED, FROM_1_MS),
    ("scheduler_preemption_attempts_total", "counter", &[], None),
    (
        "scheduler_preemption_execution_duration_seconds",
        "histogram",
        &["preemptor", "result"],
        Some((0.001, 2.0, 16)),
    ),
    ("scheduler_preemption_pdb_violations_total", "counter", &["preemptor"], None),
    ("scheduler_preemption_victims", "histogram", &[], Some((1.0, 2.0, 7))),
    ("scheduler_preemption_workload_disruptions", "histogram", &["preemptor"], Some((1.0, 2.0, 11))),
    ("scheduler_queue_incoming_entities_total", "counter", &["queue", "event", "type"], None),
    ("scheduler_queue_incoming_pods_total", "counter", &["queue", "event"], None),
    ("scheduler_queued_entities", "gauge", &["queue", "type"], None),
    ("scheduler_schedule_attempts_total", "counter", PROFILED, None),
    ("scheduler_scheduling_algorithm_duration_seconds", "histogram", &[], FROM_1_MS),
    ("scheduler_scheduling_attempt_duration_seconds", "histogram", PROFILED, FROM_1_MS),
    ("scheduler_unschedulable_pods", "gauge", &["plugin", "profile"], None),
    ("scheduler_workload_preemption_attempts_total", "counter", &["result"], None),
    ("scheduler_workload_preemption_victims", "histogram", &[], Some((1.0, 2.0, 11))),
];

/// These have bounds that follow no rule.
const CLIENT: [&str; 2] =
    ["rest_client_rate_limiter_duration_seconds", "rest_client_request_duration_seconds"];
const CLIENT_BOUNDS: [&str; 12] =
    ["0.005", "0.025", "0.1", "0.25", "0.5", "1", "2", "4", "8", "15", "30", "60"];

/// Every metric of the scheduler of Kubernetes 1.37.
const UPSTREAM: [&str; 50] = [
    "scheduler_async_api_call_execution_duration_seconds",
    "scheduler_async_api_call_execution_total",
    "scheduler_batch_attempts_total",
    "scheduler_batch_cache_flushed_total",
    "scheduler_batch_rescore_attempts_total",
    "scheduler_batch_rescore_duration_seconds",
    "scheduler_cache_size",
    "scheduler_dra_bindingconditions_allocations_total",
    "scheduler_dra_bindingconditions_wait_duration_seconds",
    "scheduler_event_handling_duration_seconds",
    "scheduler_framework_extension_point_duration_seconds",
    "scheduler_generated_placements_total",
    "scheduler_get_node_hint_duration_seconds",
    "scheduler_goroutines",
    "scheduler_inflight_events",
    "scheduler_pending_async_api_calls",
    "scheduler_pending_pods",
    "scheduler_permit_wait_duration_seconds",
    "scheduler_placement_evaluation_duration_seconds",
    "scheduler_placement_evaluations_total",
    "scheduler_plugin_evaluation_total",
    "scheduler_plugin_execution_duration_seconds",
    "scheduler_pod_scheduled_after_flush_total",
    "scheduler_pod_scheduling_attempts",
    "scheduler_pod_scheduling_sli_duration_seconds",
    "scheduler_podgroup_schedule_attempts_total",
    "scheduler_podgroup_scheduling_algorithm_duration_seconds",
    "scheduler_podgroup_scheduling_attempt_duration_seconds",
    "scheduler_pre_queueing_hint_evaluations_total",
    "scheduler_preemption_attempts_total",
    "scheduler_preemption_evaluation_duration_seconds",
    "scheduler_preemption_execution_duration_seconds",
    "scheduler_preemption_goroutines_duration_seconds",
    "scheduler_preemption_goroutines_execution_total",
    "scheduler_preemption_pdb_violations_total",
    "scheduler_preemption_victims",
    "scheduler_preemption_workload_disruptions",
    "scheduler_queue_incoming_entities_total",
    "scheduler_queue_incoming_pods_total",
    "scheduler_queued_entities",
    "scheduler_queueing_hint_execution_duration_seconds",
    "scheduler_schedule_attempts_total",
    "scheduler_scheduling_algorithm_duration_seconds",
    "scheduler_scheduling_attempt_duration_seconds",
    "scheduler_store_schedule_results_duration_seconds",
    "scheduler_unschedulable_pods",
    "scheduler_volume_binder_cache_requests_total",
    "scheduler_volume_scheduling_stage_error_total",
    "scheduler_workload_preemption_attempts_total",
    "scheduler_workload_preemption_victims",
];

/// One of everything.
fn record(metrics: &Metrics) {
    let profile = metrics.profile("default-scheduler");
    profile.attempt(Verdict::Scheduled, MS);
    profile.point(Point::Filter, Status::Success, MS);
    profile.unschedulable("NodeResourcesFit", 1);
    profile.waiting("InsufficientCpu", 1);
    metrics.plugin("NodeResourcesFit", Point::Filter).ran(Status::Unschedulable, MS);
    metrics.attempts.algorithm(MS);
    metrics.attempts.bound(2, MS);
    metrics.attempts.bound(40, MS);
    metrics.attempts.bound_after_flush();
    metrics.queue.pending(Pending { active: 3, gated: 1, ..Pending::default() });
    metrics.queue.entities(Queue::Active, Entity::Pod, 3);
    metrics.queue.queued(Queue::Active, "UnscheduledPodAdd", Entity::Pod, 1);
    metrics.queue.handled("NodeAdd", MS);
    metrics.preemption.attempt(Preemptor::Pod, Status::Success);
    metrics.preemption.attempt(Preemptor::PodGroup, Status::Success);
    metrics.preemption.victims(Preemptor::Pod, 2, 2, 1);
    metrics.preemption.executed(Preemptor::Pod, true, MS);
    metrics.gangs.attempt(GangResult::WaitingOnPreemption, "default-scheduler", MS);
    metrics.gangs.algorithm(MS);
    metrics.gangs.generated("default-scheduler", 4);
    metrics.gangs.tried(false, "default-scheduler", MS);
    metrics.devices.waited("default-scheduler", "gpu.example.com", BindingOutcome::Timeout, MS);
    metrics.devices.prepared(BindingOutcome::Success, true, MS);
    metrics.writes.submitted("pod_binding");
    metrics.writes.settled("pod_binding", true, MS);
    metrics.requests.request(201, "POST", "10.0.0.1:443", MS);
    metrics.requests.request(0, "GET", "10.0.0.1:443", MS);
    metrics.requests.held_back("POST", "10.0.0.1:443", MS);
    metrics.state.cache(CacheSize { nodes: 5, pods: 7, assumed_pods: 1 });
    metrics.state.running("binding", 3);
    metrics.state.leads("kube-scheduler", true);
    metrics.state.feature("DRADeviceTaints", "BETA", true);
}

/// A name as a reader of the text sees it.
#[derive(Default)]
struct Seen {
    help: String,
    kind: String,
    /// Whole lines with what stands behind the name, the labels and the value.
    samples: Vec<(String, BTreeMap<String, String>, f64)>,
    labels_in_order: BTreeSet<Vec<String>>,
}

/// Reads the text as strictly as its format is written down: help, then type, then samples, all of one name together.
fn parse(text: &str) -> BTreeMap<String, Seen> {
    let mut all: BTreeMap<String, Seen> = BTreeMap::new();
    let mut current = String::new();
    assert!(text.ends_with('\n'), "the last line ends");
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help line has a name and words");
            current = name.to_owned();
            let before = all.insert(current.clone(), Seen { help: help.to_owned(), ..Seen::default() });
            assert!(before.is_none(), "{name} comes twice");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type line has a name and a type");
            assert_eq!(name, current, "the type follows the help");
            all.get_mut(name).expect("there was a help line").kind = kind.to_owned();
        } else {
            let seen = all.get_mut(&current).expect("samples follow their heading");
            let (name, labels, value) = sample(line);
            let suffix = name.strip_prefix(&current).expect("a sample is of the name above it");
            assert!(["", "_bucket", "_sum", "_count"].contains(&suffix), "{line}");
            seen.labels_in_order
                .insert(labels.iter().map(|(label, _)| label.clone()).filter(|l| l != "le").collect());
            seen.samples.push((suffix.to_owned(), labels.into_iter().collect(), value));
        }
    }
    all
}

fn sample(line: &str) -> (&str, Vec<(String, String)>, f64) {
    let (head, value) = line.rsplit_once(' ').expect("a sample has a value");
    let value = value.parse().expect("a value is a number");
    let Some((name, labels)) = head.split_once('{') else { return (head, Vec::new(), value) };
    let labels = labels.strip_suffix('}').expect("labels are closed");
    let labels = labels.split(',').map(|label| {
        let (label, quoted) = label.split_once('=').expect("a label has a value");
        let value =
            quoted.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).expect("a value is quoted");
        (label.to_owned(), value.to_owned())
    });
    (name, labels.collect(), value)
}

fn recorded() -> BTreeMap<String, Seen> {
    let metrics = Metrics::default();
    record(&metrics);
    parse(&metrics.text())
}

fn bounds(seen: &Seen) -> Vec<String> {
    let first = seen.samples.iter().find(|(suffix, ..)| suffix == "_bucket").expect("there is a bucket");
    let others = |labels: &BTreeMap<String, String>| {
        labels
            .iter()
            .filter(|(label, _)| *label != "le")
            .map(|(a, b)| (a.clone(), b.clone()))
            .collect::<Vec<_>>()
    };
    let of_first = |labels: &&BTreeMap<String, String>| others(labels) == others(&first.1);
    let buckets = seen.samples.iter().filter(|(suffix, ..)| suffix == "_bucket").map(|(_, labels, _)| labels);
    buckets.filter(of_first).map(|labels| labels["le"].clone()).collect()
}

/// Metrics that Kubernetes does not have.
const OURS: [&str; 5] = [
    "supercargo_scheduler_consideration_duration_seconds",
    "supercargo_scheduler_considerations",
    "supercargo_scheduler_negotiating_pods",
    "supercargo_scheduler_recording",
    "supercargo_scheduler_waiting_pods",
];

#[test]
fn names_types_labels_and_buckets_are_those_of_kubernetes() {
    let seen = recorded();
    for (name, kind, labels, buckets) in TABLE {
        let seen = seen.get(*name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(seen.kind, *kind, "{name}");
        assert!(!seen.help.is_empty(), "{name}");
        let expected = labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>();
        assert_eq!(seen.labels_in_order, BTreeSet::from([expected]), "{name}");
        if let Some((start, factor, count)) = *buckets {
            let mut bound = start;
            let shown = bounds(seen);
            assert_eq!(shown.len(), count + 1, "{name}");
            assert_eq!(shown[count], "+Inf", "{name}");
            for text in &shown[..count] {
                assert_eq!(text.parse(), Ok(bound), "{name}");
                bound *= factor;
            }
        }
    }
    for name in CLIENT {
        assert_eq!(bounds(&seen[name])[..12], CLIENT_BOUNDS, "{name}");
    }
}

#[test]
fn what_kubernetes_measures_is_there_or_listed_as_a_difference() {
    let differences = include_str!("../../../docs/differences.md");
    let missing: Vec<&str> =
        UPSTREAM.into_iter().filter(|name| TABLE.iter().all(|row| row.0 != *name)).collect();
    assert_eq!(missing.len(), 16, "{missing:?}");
    for name in missing {
        assert!(
            differences.contains(&format!("`{name}`")),
            "{name} is neither measured nor in docs/differences.md"
        );
    }
}

#[test]
fn there_is_no_name_that_no_table_knows() {
    let known: BTreeSet<&str> = TABLE.iter().map(|row| row.0).chain(CLIENT).chain(OURS).collect();
    let all = recorded();
    let strange: Vec<_> =
        all.keys().filter(|name| !known.contains(name.as_str()) && !name.starts_with("process_")).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn bounds_below_a_tenth_of_a_millisecond_are_printed_as_by_other_exporters() {
    let shown = bounds(&recorded()["scheduler_plugin_execution_duration_seconds"]);
    assert_eq!(
        shown[..4],
        ["1e-05", "1.5000000000000002e-05", "2.2500000000000005e-05", "3.375000000000001e-05"]
    );
}

#[test]
fn buckets_only_grow_and_end_with_the_count() {
    for (name, seen) in recorded().iter().filter(|(_, seen)| seen.kind == "histogram") {
        let mut last = 0.0;
        for (suffix, labels, value) in &seen.samples {
            match suffix.as_str() {
                "_bucket" => {
                    assert!(*value >= last, "{name} {labels:?}");
                    last = *value;
                }
                "_count" => {
                    assert!((*value - last).abs() < f64::EPSILON, "{name} {labels:?}");
                    last = 0.0;
                }
                _ => {}
            }
        }
    }
}

#[test]
fn values_are_those_that_were_recorded() {
    let metrics = Metrics::default();
    record(&metrics);
    let text = metrics.text();
    for line in [
        "scheduler_schedule_attempts_total{result=\"scheduled\",profile=\"default-scheduler\"} 1",
        "scheduler_schedule_attempts_total{result=\"error\",profile=\"default-scheduler\"} 0",
        "scheduler_pending_pods{queue=\"active\"} 3",
        "scheduler_pending_pods{queue=\"backoff\"} 0",
        "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"2\"} 1",
        "scheduler_pod_scheduling_sli_duration_seconds_count{attempts=\"15+\"} 1",
        "scheduler_pod_scheduling_attempts_sum 42",
        "scheduler_scheduling_algorithm_duration_seconds_sum 0.001",
        "scheduler_scheduling_algorithm_duration_seconds_bucket{le=\"0.001\"} 1",
        "scheduler_pending_async_api_calls{call_type=\"pod_binding\"} 0",
        "rest_client_requests_total{code=\"201\",method=\"POST\",host=\"10.0.0.1:443\"} 1",
        "rest_client_requests_total{code=\"<error>\",method=\"GET\",host=\"10.0.0.1:443\"} 1",
        "scheduler_goroutines{operation=\"binding\"} 3",
        "leader_election_master_status{name=\"kube-scheduler\"} 1",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is missing");
    }
}

#[test]
fn before_anything_happened_every_name_is_there_with_its_help_and_type() {
    let fresh = parse(&Metrics::default().text());
    assert!(TABLE.iter().all(|row| fresh.contains_key(row.0)));
}

#[test]
#[cfg(target_os = "linux")]
fn the_program_tells_what_it_takes_from_the_machine() {
    let seen = recorded();
    let value = |name: &str| seen[name].samples[0].2;
    assert!(value("process_resident_memory_bytes") > 100_000.0);
    assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
    assert!(value("process_open_fds") >= 3.0);
    assert!(value("process_cpu_seconds_total") >= 0.0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    assert!((now.as_secs_f64() - value("process_start_time_seconds")).abs() < 3600.0);
}

#[test]
fn recording_what_was_recorded_before_allocates_nothing() {
    let metrics = Metrics::default();
    let profile = metrics.profile("default-scheduler");
    let plugin = metrics.plugin("NodeResourcesFit", Point::Filter);
    let hot = || {
        profile.attempt(Verdict::Unschedulable, MS);
        profile.point(Point::Filter, Status::Success, MS);
        profile.unschedulable("NodeResourcesFit", 1);
        profile.waiting("InsufficientCpu", 1);
        plugin.ran(Status::Success, MS);
        metrics.attempts.algorithm(MS);
        metrics.attempts.bound(3, MS);
        metrics.queue.pending(Pending::default());
        metrics.queue.queued(Queue::Backoff, "ScheduleAttemptFailure", Entity::Pod, 1);
        metrics.queue.handled("NodeUpdate", MS);
        metrics.writes.submitted("pod_binding");
        metrics.writes.settled("pod_binding", true, MS);
        metrics.requests.request(200, "PATCH", "10.0.0.1:443", MS);
        metrics.state.cache(CacheSize::default());
        metrics.state.running("binding", 3);
    };
    hot();
    let counted = allocation_counter::measure(|| (0..100).for_each(|_| hot()));
    assert_eq!(counted.count_total, 0);
}
