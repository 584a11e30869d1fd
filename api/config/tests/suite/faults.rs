//! What is said about each mistake, and where it is said to be.

use config::SchedulerSettings;
use gates::{Gate, Gates};

const HEAD: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

#[track_caller]
fn check_with(gates: Gates, body: &str, expected: &[&str]) {
    let text = format!("{HEAD}{body}");
    let faults = match SchedulerSettings::read(&text, gates) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    };
    assert_eq!(faults, expected, "{body}");
}

/// Line 3 is the first of the body.
#[track_caller]
fn check(body: &str, expected: &[&str]) {
    check_with(Gates::default(), body, expected);
}

/// The arguments of a plugin begin on line 6, in column 7.
#[track_caller]
fn check_args(plugin: &str, args: &str, expected: &[&str]) {
    let indented: Vec<_> = args.lines().map(|line| format!("      {line}\n")).collect();
    let body = format!("profiles:\n- pluginConfig:\n  - name: {plugin}\n    args:\n{}", indented.concat());
    let expected: Vec<_> =
        expected.iter().map(|fault| fault.replace("ARGS", "profiles[0].pluginConfig[0].args")).collect();
    check(&body, &expected.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn text_that_is_no_yaml_is_told_with_its_place() {
    check("a: b: c\n", &["line 3, column 5: invalid YAML: mapping values are not allowed in this context"]);
    check("---\nparallelism: 1\n", &["line 4, column 1: invalid YAML: a second document begins here"]);
    check(
        "parallelism: 1\nparallelism: 2\n",
        &["line 4, column 1: parallelism: is set twice, first on line 3; hint: remove one of them"],
    );
}

#[test]
fn the_file_must_say_what_it_is() {
    let read = |text| SchedulerSettings::read(text, Gates::default()).map_err(|error| error.to_string());
    assert_eq!(
        read("parallelism: 1\n"),
        Err("line 1, column 1: apiVersion: must be set; hint: write apiVersion: kubescheduler.config.k8s.io/v1\n\
             line 1, column 1: kind: must be set; hint: write kind: KubeSchedulerConfiguration"
            .to_owned())
    );
    assert_eq!(
        read("apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"),
        Err("line 1, column 13: apiVersion: is \"kubescheduler.config.k8s.io/v1beta3\" and must be one of \
             kubescheduler.config.k8s.io/v1"
            .to_owned())
    );
    assert_eq!(read("[]"), Err("line 1, column 1: must be a map, not a list".to_owned()));
    assert_eq!(read("5"), Err("line 1, column 1: must be a map, not a whole number".to_owned()));
}

#[test]
fn all_mistakes_are_told_in_the_order_of_the_text() {
    check(
        "percentageOfNodesToScore: 101\nleaderElection:\n  leaseDurations: 15s\n  retryPeriod: 2\nprofiles:\n\
         - plugins:\n    score:\n      enabled:\n      - name: ImageLocalty\n        weight: heavy\nparallelism: 0\n",
        &[
            "line 3, column 27: percentageOfNodesToScore: is 101 and must be from 0 to 100",
            "line 5, column 3: leaderElection.leaseDurations: unknown field; hint: the nearest known field is \
             leaseDuration",
            "line 6, column 16: leaderElection.retryPeriod: must be a duration such as 90s or 1h30m, not a \
             whole number",
            "line 11, column 15: profiles[0].plugins.score.enabled[0].name: unknown plugin ImageLocalty; hint: the \
             nearest known plugin is ImageLocality",
            "line 12, column 17: profiles[0].plugins.score.enabled[0].weight: must be a whole number, not text",
            "line 13, column 14: parallelism: is 0 and must be at least 1, and fit into 32 bits",
        ],
    );
}

#[test]
fn fields_must_have_their_types() {
    check("parallelism: '16'\n", &["line 3, column 14: parallelism: must be a whole number, not text"]);
    check("parallelism: 1.5\n", &["line 3, column 14: parallelism: must be a whole number, not a number"]);
    check(
        "parallelism: 99999999999\n",
        &["line 3, column 14: parallelism: is 99999999999 and must be at least 1, and fit into 32 bits"],
    );
    check(
        "enableProfiling: 1\n",
        &["line 3, column 18: enableProfiling: must be true or false, not a whole number"],
    );
    check("profiles: {}\n", &["line 3, column 1: profiles: must be a list, not a map"]);
    check(
        "clientConnection: {qps: fast, burst: -1, kubeconfig: 5}\n",
        &[
            "line 3, column 25: clientConnection.qps: must be a number, not text",
            "line 3, column 38: clientConnection.burst: is -1 and must be at least 0, and fit into 32 bits",
            "line 3, column 54: clientConnection.kubeconfig: must be text, not a whole number",
        ],
    );
}

#[test]
fn numbers_that_are_far_too_large_are_told_as_written() {
    check(
        "podInitialBackoffSeconds: 1e300\nclientConnection: {qps: 1e300}\n",
        &[
            "line 3, column 27: podInitialBackoffSeconds: is 1e300 and must be at least 1",
            "line 4, column 25: clientConnection.qps: is too large",
        ],
    );
    check("parallelism: 8.0\n", &[]);
}

#[test]
fn backoffs_must_grow() {
    check(
        "podInitialBackoffSeconds: 0\n",
        &["line 3, column 27: podInitialBackoffSeconds: is 0 and must be at least 1"],
    );
    check(
        "podInitialBackoffSeconds: 11\n",
        &[
            "line 3, column 27: podInitialBackoffSeconds: must be at most podMaxBackoffSeconds, which is 10 unless set",
        ],
    );
    check(
        "podMaxBackoffSeconds: 2\npodInitialBackoffSeconds: 3\n",
        &["line 3, column 23: podMaxBackoffSeconds: must be at least podInitialBackoffSeconds"],
    );
}

#[test]
fn times_of_the_leader_must_fit_each_other() {
    check(
        "leaderElection:\n  leaseDuration: 10s\n",
        &["line 4, column 18: leaderElection.leaseDuration: must be longer than renewDeadline"],
    );
    check(
        "leaderElection:\n  retryPeriod: 9s\n",
        &["line 3, column 1: leaderElection.renewDeadline: must be longer than 1.2 times retryPeriod"],
    );
    check("leaderElection: {leaderElect: false, leaseDuration: 1s, resourceLock: endpoints}\n", &[]);
    check(
        "leaderElection: {resourceLock: endpoints}\n",
        &["line 3, column 32: leaderElection.resourceLock: must be leases; there is no other lock"],
    );
    check(
        "leaderElection: {leaseDuration: 15}\n",
        &["line 3, column 33: leaderElection.leaseDuration: must be a duration such as 90s or 1h30m, not a \
         whole number"],
    );
    check(
        "leaderElection: {leaseDuration: '15', renewDeadline: -1s}\n",
        &[
            "line 3, column 33: leaderElection.leaseDuration: cannot read \"15\": each number needs a unit: ns, us, ms, \
         s, m or h",
            "line 3, column 54: leaderElection.renewDeadline: cannot read \"-1s\": must be a duration such as 90s or 1h30m",
        ],
    );
}

#[test]
fn profiles_must_have_names_of_their_own() {
    check(
        "profiles:\n- schedulerName: a\n- {}\n- schedulerName: a\n",
        &[
            "line 5, column 3: profiles[1].schedulerName: must be set; hint: each of several profiles needs its own name",
            "line 6, column 18: profiles[2].schedulerName: an earlier profile has this name",
        ],
    );
    check(
        "profiles:\n- schedulerName: ''\n",
        &[
            "line 4, column 18: profiles[0].schedulerName: must be set; hint: set it to the spec.schedulerName of pods",
        ],
    );
    check(
        "profiles:\n- percentageOfNodesToScore: -1\n",
        &["line 4, column 29: profiles[0].percentageOfNodesToScore: is -1 and must be from 0 to 100"],
    );
}

#[test]
fn plugins_must_exist_and_run_where_they_are_listed() {
    check(
        "profiles:\n- plugins:\n    scores: {}\n",
        &[
            "line 5, column 5: profiles[0].plugins.scores: unknown field; hint: the nearest known field is score",
        ],
    );
    check(
        "profiles:\n- plugins:\n    score:\n      enabled:\n      - name: NodeName\n",
        &[
            "line 7, column 15: profiles[0].plugins.score.enabled[0].name: NodeName does not run at score; hint: it runs \
         at preFilter, filter",
        ],
    );
    check(
        "profiles:\n- plugins:\n    filter:\n      enabled: [{name: EBSLimits}, {weight: 1}]\n",
        &[
            "line 6, column 24: profiles[0].plugins.filter.enabled[0].name: plugin EBSLimits no longer exists; hint: \
         remove it; NodeVolumeLimits replaces it",
            "line 6, column 36: profiles[0].plugins.filter.enabled[1].name: must be set; hint: write the name of a plugin",
        ],
    );
    check(
        "profiles:\n- plugins:\n    filter:\n      disabled: [{name: NodePort}]\n",
        &[
            "line 6, column 25: profiles[0].plugins.filter.disabled[0].name: unknown plugin NodePort; hint: the nearest \
         known plugin is NodePorts",
        ],
    );
    check(
        "profiles:\n- plugins:\n    multiPoint:\n      enabled: [{name: NodeName}, {name: NodeName}]\n",
        &[
            "line 6, column 35: profiles[0].plugins.multiPoint.enabled[1]: NodeName is listed twice; hint: remove one of them",
        ],
    );
}

#[test]
fn something_must_sort_the_queue_and_bind() {
    check(
        "profiles:\n- plugins:\n    multiPoint: {disabled: [{name: '*'}]}\n",
        &[
            "line 4, column 3: profiles[0].plugins: no plugin sorts the queue; hint: enable PrioritySort at queueSort",
            "line 4, column 3: profiles[0].plugins: no plugin binds pods; hint: enable DefaultBinder at bind",
        ],
    );
}

#[test]
fn extenders_are_refused() {
    check(
        "extenders:\n- urlPrefix: http://127.0.0.1:8888\n  filterVerbs: filter\n  weight: 1\n",
        &[
            "line 3, column 1: extenders: extenders are not supported; hint: remove them, and publish the devices \
                that they manage as ResourceSlices",
            "line 5, column 3: extenders[0].filterVerbs: unknown field; hint: the nearest known field is filterVerb",
        ],
    );
    check("extenders: []\n", &[]);
}

#[test]
fn arguments_must_be_those_of_their_plugin() {
    check(
        "profiles:\n- pluginConfig:\n  - name: NodeNames\n  - args: {}\n  - name: NodeName\n    args: {a: 1}\n",
        &[
            "line 5, column 11: profiles[0].pluginConfig[0].name: unknown plugin NodeNames; hint: the nearest known \
         plugin is NodeName",
            "line 6, column 5: profiles[0].pluginConfig[1].name: must be set; hint: write the name of a plugin",
            "line 8, column 5: profiles[0].pluginConfig[2].args: NodeName takes no arguments; hint: remove them",
        ],
    );
    check(
        "profiles:\n- pluginConfig:\n  - name: NodeAffinity\n  - name: NodeAffinity\n",
        &[
            "line 6, column 11: profiles[0].pluginConfig[1].name: NodeAffinity is listed twice; hint: remove one of them",
        ],
    );
    check_args(
        "NodeAffinity",
        "kind: NodeResourcesFitArgs",
        &["line 7, column 13: ARGS.kind: is \"NodeResourcesFitArgs\" and must be one of NodeAffinityArgs"],
    );
    check_args("NodeAffinity", "apiVersion: kubescheduler.config.k8s.io/v1\nkind: NodeAffinityArgs", &[]);
}

#[test]
fn limits_for_devices_must_be_times() {
    check_args("DynamicResources", "filterTimeout: 0s\nbindingTimeout: 1s", &[]);
    check_args(
        "DynamicResources",
        "filterTimeout: -1s\nbindingTimeout: 999ms",
        &[
            "line 7, column 22: ARGS.filterTimeout: cannot read \"-1s\": must be a duration such as 90s or 1h30m",
            "line 8, column 23: ARGS.bindingTimeout: must be at least 1s",
        ],
    );
    let gates = Gates::default().with(Gate::DRASchedulerFilterTimeout, false);
    check_with(
        gates,
        "profiles: [{pluginConfig: [{name: DynamicResources, args: {filterTimeout: 5s}}]}]\n",
        &[
            "line 3, column 75: profiles[0].pluginConfig[0].args.filterTimeout: has no effect while feature gate \
         DRASchedulerFilterTimeout is off; hint: remove it, or set DRASchedulerFilterTimeout=true",
        ],
    );
}

#[test]
fn strategies_must_be_complete() {
    check_args(
        "NodeResourcesFit",
        "scoringStrategy: {type: Most}",
        &[
            "line 7, column 31: ARGS.scoringStrategy.type: is \"Most\" and must be one of LeastAllocated, MostAllocated, \
         RequestedToCapacityRatio",
        ],
    );
    check_args(
        "NodeResourcesFit",
        "scoringStrategy: {resources: [{name: cpu, weight: 101}, {weight: 1}]}",
        &[
            "line 7, column 7: ARGS.scoringStrategy.type: must be set; hint: write LeastAllocated, MostAllocated or \
         RequestedToCapacityRatio",
            "line 7, column 57: ARGS.scoringStrategy.resources[0].weight: is 101 and must be from 1 to 100",
            "line 7, column 63: ARGS.scoringStrategy.resources[1].name: must be set; hint: write the name of a resource",
        ],
    );
    check_args(
        "NodeResourcesFit",
        "scoringStrategy: {type: RequestedToCapacityRatio}",
        &["line 7, column 7: ARGS.scoringStrategy.requestedToCapacityRatio: must be set; hint: type \
         RequestedToCapacityRatio needs a shape with at least one point"],
    );
    check_args(
        "NodeResourcesFit",
        "scoringStrategy: {type: MostAllocated, requestedToCapacityRatio: {}}",
        &["line 7, column 46: ARGS.scoringStrategy.requestedToCapacityRatio: may be set only with type \
         RequestedToCapacityRatio"],
    );
    let shape = "scoringStrategy:\n  type: RequestedToCapacityRatio\n  requestedToCapacityRatio:\n    shape:\n    \
                 - {utilization: 50, score: 11}\n    - {utilization: 50}\n    - {utilization: 101}";
    check_args(
        "NodeResourcesFit",
        shape,
        &[
            "line 11, column 38: ARGS.scoringStrategy.requestedToCapacityRatio.shape[0].score: is 11 and must be from 0 \
         to 10",
            "line 12, column 27: ARGS.scoringStrategy.requestedToCapacityRatio.shape[1].utilization: must be more than \
         that of the point before",
            "line 13, column 27: ARGS.scoringStrategy.requestedToCapacityRatio.shape[2].utilization: is 101 and must be \
         from 0 to 100",
        ],
    );
    check_args(
        "NodeResourcesFit",
        "ignoredResources: ['a b']\nignoredResourceGroups: [example.com/gpu]",
        &[
            "line 7, column 26: ARGS.ignoredResources[0]: \"a b\" is not a valid name: the name must be letters, digits, '-', \
         '_' and '.', with a letter or digit at both ends",
            "line 8, column 31: ARGS.ignoredResourceGroups[0]: must be the part of a resource's name before '/'",
        ],
    );
}

#[test]
fn balanced_resources_count_the_same() {
    check_args(
        "NodeResourcesBalancedAllocation",
        "resources: [{name: cpu, weight: 2}, {name: a}, {name: a}]",
        &[
            "line 7, column 39: ARGS.resources[0].weight: is 2 and must be 1",
            "line 7, column 54: ARGS.resources[2]: an earlier resource has this name",
        ],
    );
}

#[test]
fn constraints_must_be_whole_and_different() {
    check_args(
        "PodTopologySpread",
        "defaultConstraints:\n- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}",
        &[
            "line 7, column 7: ARGS.defaultConstraints: must be empty unless defaultingType is List; hint: write \
         defaultingType: List",
        ],
    );
    let list = "defaultingType: List\ndefaultConstraints:\n- {}\n- {maxSkew: 0, topologyKey: zone, whenUnsatisfiable: \
                Never}\n- {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}\n- {maxSkew: 2, \
                topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}";
    check_args(
        "PodTopologySpread",
        list,
        &[
            "line 9, column 9: ARGS.defaultConstraints[0].maxSkew: must be set; hint: write a number of at least 1",
            "line 9, column 9: ARGS.defaultConstraints[0].topologyKey: must be set; hint: write the key of a node label",
            "line 9, column 9: ARGS.defaultConstraints[0].whenUnsatisfiable: must be set; hint: write DoNotSchedule or \
         ScheduleAnyway",
            "line 10, column 19: ARGS.defaultConstraints[1].maxSkew: is 0 and must be at least 1, and fit into 32 bits",
            "line 10, column 60: ARGS.defaultConstraints[1].whenUnsatisfiable: is \"Never\" and must be one of \
         DoNotSchedule, ScheduleAnyway",
            "line 12, column 9: ARGS.defaultConstraints[3]: an earlier constraint has this topologyKey and this \
         whenUnsatisfiable",
            "line 12, column 75: ARGS.defaultConstraints[3].labelSelector: must not be set; the pods are those of the \
         pod's service or controller",
        ],
    );
    check_args(
        "PodTopologySpread",
        "defaultingType: Lists",
        &["line 7, column 23: ARGS.defaultingType: is \"Lists\" and must be one of System, List"],
    );
}

#[test]
fn numbers_of_the_other_plugins_have_limits() {
    check_args(
        "DefaultPreemption",
        "minCandidateNodesPercentage: 101\nminCandidateNodesAbsolute: -1",
        &[
            "line 7, column 36: ARGS.minCandidateNodesPercentage: is 101 and must be from 0 to 100",
            "line 8, column 34: ARGS.minCandidateNodesAbsolute: is -1 and must be at least 0, and fit into 32 bits",
        ],
    );
    check_args(
        "DefaultPreemption",
        "minCandidateNodesPercentage: 0\nminCandidateNodesAbsolute: 0",
        &["line 7, column 36: ARGS.minCandidateNodesPercentage: must not be zero together with \
         minCandidateNodesAbsolute"],
    );
    check_args(
        "InterPodAffinity",
        "hardPodAffinityWeight: 101",
        &["line 7, column 30: ARGS.hardPodAffinityWeight: is 101 and must be from 0 to 100"],
    );
    check_args(
        "VolumeBinding",
        "bindTimeoutSeconds: -1\nshape: [{utilization: 0, score: 11}]",
        &[
            "line 7, column 27: ARGS.bindTimeoutSeconds: is -1 and must be at least 0",
            "line 8, column 39: ARGS.shape[0].score: is 11 and must be from 0 to 10",
        ],
    );
    let gates = Gates::default().with(Gate::StorageCapacityScoring, false);
    check_with(
        gates,
        "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{score: 1}]}}]}]\n",
        &["line 3, column 57: profiles[0].pluginConfig[0].args.shape: has no effect while feature gate \
         StorageCapacityScoring is off; hint: remove it, or set StorageCapacityScoring=true"],
    );
}

#[test]
fn added_affinity_must_be_one_that_can_be_judged() {
    let affinity = "addedAffinity:\n  requiredDuringSchedulingIgnoredDuringExecution:\n    nodeSelectorTerms:\n    \
                    - matchExpressions:\n      - {key: rack, operator: In}\n      - {key: 'a b', operator: Exists}\n      \
                    - {key: slots, operator: Gt, values: [many]}\n      - {operator: Like}\n      matchFields:\n      \
                    - {key: metadata.name, operator: Exists}\n  requiredDuringScheduling: {}";
    check_args(
        "NodeAffinity",
        affinity,
        &[
            "line 11, column 15: ARGS.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
         matchExpressions[0]: it lists no value",
            "line 12, column 21: ARGS.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
         matchExpressions[1].key: \"a b\" is not a valid name: the name must be letters, digits, '-', '_' and '.', with a \
         letter or digit at both ends",
            "line 13, column 15: ARGS.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
         matchExpressions[2]: its value is not a whole number",
            "line 14, column 15: ARGS.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
         matchExpressions[3].key: must be set; hint: write what is compared",
            "line 14, column 26: ARGS.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
         matchExpressions[3].operator: is \"Like\" and must be one of In, NotIn, Exists, DoesNotExist, Gt, Lt",
            "line 16, column 15: ARGS.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].\
         matchFields[0]: a field takes exactly one value",
            "line 17, column 9: ARGS.addedAffinity.requiredDuringScheduling: unknown field; hint: the nearest known field \
         is requiredDuringSchedulingIgnoredDuringExecution",
        ],
    );
}
