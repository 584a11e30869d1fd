//! What runs at a point when a profile enables and disables plugins, as a table of the rules of Kubernetes.

use config::{Plugins, Point, SchedulerSettings};
use gates::Gates;

/// What runs when `plugins` of a profile is this flow mapping.
fn plugins(sets: &str) -> Plugins {
    let text = format!(
        "{{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration, profiles: [{{plugins: {sets}}}]}}"
    );
    let settings = SchedulerSettings::read(&text, Gates::default()).expect("a valid profile");
    let again = SchedulerSettings::read(&settings.render(), Gates::default());
    assert_eq!(again.as_ref(), Ok(&settings), "what is written reads back the same");
    settings.profiles[0].plugins.clone()
}

/// The plugins at a point with their weights, if they have any.
fn shown(plugins: &Plugins, point: Point) -> String {
    let weights = match point {
        Point::Score => &plugins.score_weights,
        Point::PlacementScore => &plugins.placement_score_weights,
        _ => return plugins.at(point).iter().map(|plugin| plugin.name()).collect::<Vec<_>>().join(" "),
    };
    let told = plugins.at(point).iter().map(|plugin| format!("{plugin}={}", weights[plugin]));
    told.collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn check(sets: &str, point: Point, expected: &str) {
    assert_eq!(shown(&plugins(sets), point), expected, "{point} with {sets}");
}

const SCORES: &str = "TaintToleration=3 NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 \
                      InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1 ReadyDevices=3";

#[test]
fn silence_keeps_the_defaults() {
    check("{}", Point::Score, SCORES);
    check("{score: {}}", Point::Score, SCORES);
    check("{score: {enabled: [], disabled: []}, multiPoint: }", Point::Score, SCORES);
}

#[test]
fn a_plugin_can_be_disabled_at_one_point_or_everywhere() {
    let sets = "{score: {disabled: [{name: ImageLocality}, {name: TaintToleration}]}}";
    check(
        sets,
        Point::Score,
        "NodeAffinity=2 NodeResourcesFit=1 VolumeBinding=1 PodTopologySpread=2 InterPodAffinity=2 \
         DynamicResources=2 NodeResourcesBalancedAllocation=1 ReadyDevices=3",
    );
    assert!(shown(&plugins(sets), Point::Filter).contains("TaintToleration"));

    let sets = "{multiPoint: {disabled: [{name: DynamicResources}]}}";
    check(sets, Point::PostFilter, "DefaultPreemption");
    check(sets, Point::PreEnqueue, "SchedulingGates DefaultPreemption");
    check(sets, Point::Reserve, "VolumeBinding");
}

#[test]
fn a_star_disables_all_that_is_not_listed_by_name() {
    let sets = "{score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 5}, {name: NodeAffinity}]}}";
    check(sets, Point::Score, "ImageLocality=5 NodeAffinity=1");
    check("{postFilter: {disabled: [{name: '*'}]}}", Point::PostFilter, "");

    let few = "{multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}, {name: PrioritySort}, \
               {name: NodeResourcesFit, weight: 7}, {name: NodeName}]}}";
    check(few, Point::Filter, "NodeResourcesFit NodeName");
    check(few, Point::Score, "NodeResourcesFit=7");
    check(few, Point::PlacementScore, "NodeResourcesFit=7");
    check(few, Point::PreEnqueue, "");
}

#[test]
fn a_default_that_is_listed_again_keeps_its_position_with_the_new_weight() {
    check(
        "{multiPoint: {enabled: [{name: NodeResourcesFit, weight: 9}, {name: TaintToleration}]}}",
        Point::Score,
        "TaintToleration=1 NodeAffinity=2 NodeResourcesFit=9 VolumeBinding=1 PodTopologySpread=2 \
         InterPodAffinity=2 DynamicResources=2 NodeResourcesBalancedAllocation=1 ImageLocality=1 ReadyDevices=3",
    );
}

#[test]
fn a_default_that_is_disabled_and_listed_again_moves_to_the_end() {
    check(
        "{multiPoint: {disabled: [{name: VolumeBinding}], enabled: [{name: VolumeBinding}]}}",
        Point::Reserve,
        "DynamicResources VolumeBinding",
    );
}

#[test]
fn what_a_point_lists_of_the_plugins_that_run_everywhere_comes_first() {
    check(
        "{filter: {enabled: [{name: DynamicResources}, {name: NodeName}]}}",
        Point::Filter,
        "DynamicResources NodeName NodeUnschedulable TaintToleration NodeAffinity NodePorts NodeResourcesFit \
         VolumeRestrictions NodeVolumeLimits VolumeBinding VolumeZone PodTopologySpread InterPodAffinity \
         NodeDeclaredFeatures",
    );
}

#[test]
fn what_only_a_point_lists_comes_last() {
    check(
        "{permit: {enabled: [{name: GangScheduling}]}, preEnqueue: {enabled: [{name: GangScheduling}]}}",
        Point::PreEnqueue,
        "SchedulingGates DynamicResources DefaultPreemption GangScheduling",
    );
    // What a point disables and enables is only in its own list.
    check(
        "{preBind: {disabled: [{name: VolumeBinding}], enabled: [{name: VolumeBinding}]}}",
        Point::PreBind,
        "DynamicResources VolumeBinding",
    );
}

#[test]
fn the_weight_of_the_point_outweighs_that_of_multi_point() {
    let sets = "{multiPoint: {enabled: [{name: ImageLocality, weight: 4}]}, \
                score: {enabled: [{name: ImageLocality, weight: 6}, {name: TaintToleration}]}}";
    assert!(
        shown(&plugins(sets), Point::Score).starts_with("ImageLocality=6 TaintToleration=1 NodeAffinity=2")
    );
}

#[test]
fn plugins_that_are_gone_may_still_be_disabled() {
    check(
        "{filter: {disabled: [{name: EBSLimits}]}, score: {disabled: [{name: GCEPDLimits}]}}",
        Point::Score,
        SCORES,
    );
}
