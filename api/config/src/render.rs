//! Writes settings as a file that yields the same settings when it is read with the same gates.
//!
//! Every default is written out, and instead of what a profile enabled and disabled stands what runs at each point, so
//! that one can see what takes effect. Kubernetes understands the file too.

use std::collections::BTreeMap;
use std::time::Duration;

use model::duration;
use model::node::{NodeTerm, Requirement};
use serde_json::{Map, Value, json};

use crate::read::{API_VERSION, KIND};
use crate::{
    AddedAffinity, Args, Client, DefaultConstraint, DefaultConstraints, GangScheduling, LeaderElection,
    NodeResourcesFit, PlacementWeight, Plugin, Plugins, Point, Profile, SchedulerSettings, ScoringStrategy,
    ShapePoint,
};

impl SchedulerSettings {
    /// The settings as YAML.
    #[must_use]
    pub fn render(&self) -> String {
        schema::yaml::write(&self.document())
    }

    /// The settings as a JSON value.
    #[must_use]
    pub fn document(&self) -> Value {
        json!({
            "apiVersion": API_VERSION,
            "kind": KIND,
            "parallelism": self.parallelism,
            "leaderElection": leader_election(&self.leader_election),
            "clientConnection": client(&self.client),
            "enableProfiling": self.profiling.enabled,
            "enableContentionProfiling": self.profiling.contention,
            "percentageOfNodesToScore": self.percentage_of_nodes_to_score,
            "podInitialBackoffSeconds": self.backoff.initial.as_secs(),
            "podMaxBackoffSeconds": self.backoff.max.as_secs(),
            "delayCacheUntilActive": self.delay_cache_until_active,
            "profiles": self.profiles.iter().map(profile).collect::<Vec<_>>(),
        })
    }
}

fn leader_election(election: &LeaderElection) -> Value {
    json!({
        "leaderElect": election.elect,
        "leaseDuration": duration::text(election.lease_duration),
        "renewDeadline": duration::text(election.renew_deadline),
        "retryPeriod": duration::text(election.retry_period),
        "resourceLock": "leases",
        "resourceName": election.resource_name,
        "resourceNamespace": election.resource_namespace,
    })
}

fn client(client: &Client) -> Value {
    // By way of text a number of 32 bits keeps the digits that it was written with.
    let rate = client.queries_per_second.unwrap_or(-1.0).to_string();
    json!({
        "kubeconfig": client.kubeconfig,
        "acceptContentTypes": client.accept_content_types,
        "contentType": client.content_type,
        "qps": serde_json::from_str::<Value>(&rate).unwrap_or_default(),
        "burst": client.burst,
    })
}

fn profile(profile: &Profile) -> Value {
    json!({
        "schedulerName": profile.scheduler_name,
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": plugins(&profile.plugins),
        "pluginConfig": plugin_config(&profile.args),
    })
}

fn plugins(plugins: &Plugins) -> Value {
    // The lists below are complete, so nothing may come to them from elsewhere.
    let mut sets = Map::new();
    sets.insert("multiPoint".to_owned(), json!({"disabled": [{"name": "*"}]}));
    let unweighted = BTreeMap::new();
    for point in Point::ALL {
        let weights = match point {
            Point::Score => &plugins.score_weights,
            Point::PlacementScore => &plugins.placement_score_weights,
            _ => &unweighted,
        };
        let listed = |plugin: &Plugin| match weights.get(plugin) {
            Some(weight) => json!({"name": plugin.name(), "weight": weight}),
            None => json!({"name": plugin.name()}),
        };
        let list: Vec<_> = plugins.at(*point).iter().map(listed).collect();
        if !list.is_empty() {
            sets.insert(point.name().to_owned(), json!({"enabled": list}));
        }
    }
    Value::Object(sets)
}

fn plugin_config(args: &Args) -> Value {
    let resources = args.balanced_resources.iter().map(|name| json!({"name": name, "weight": 1}));
    let all = [
        (
            Plugin::DefaultPreemption,
            json!({
                "minCandidateNodesPercentage": args.default_preemption.min_candidate_nodes_percentage,
                "minCandidateNodesAbsolute": args.default_preemption.min_candidate_nodes_absolute,
            }),
        ),
        (
            Plugin::DynamicResources,
            set_only(&[
                ("filterTimeout", args.dynamic_resources.filter_timeout.map(time)),
                ("bindingTimeout", args.dynamic_resources.binding_timeout.map(time)),
            ]),
        ),
        (
            Plugin::InterPodAffinity,
            json!({
                "hardPodAffinityWeight": args.inter_pod_affinity.hard_pod_affinity_weight,
                "ignorePreferredTermsOfExistingPods":
                    args.inter_pod_affinity.ignore_preferred_terms_of_existing_pods,
            }),
        ),
        (
            Plugin::NodeAffinity,
            set_only(&[("addedAffinity", args.added_affinity.as_ref().map(added_affinity))]),
        ),
        (Plugin::NodeResourcesBalancedAllocation, json!({"resources": resources.collect::<Vec<_>>()})),
        (Plugin::NodeResourcesFit, fit(&args.fit)),
        (Plugin::PodTopologySpread, spread(&args.default_constraints)),
        (
            Plugin::VolumeBinding,
            set_only(&[
                ("bindTimeoutSeconds", Some(args.volume_binding.bind_timeout.as_secs().into())),
                ("shape", filled(shape(&args.volume_binding.shape))),
            ]),
        ),
    ];
    let weight = |one: &PlacementWeight| json!({"name": one.scorer.name(), "weight": one.weight});
    let scorers: Vec<Value> = args.gangs.placement_scorers.iter().map(weight).collect();
    // Kubernetes knows no arguments of this plugin, so they are shown only if somebody gave some.
    let gangs = (args.gangs != GangScheduling::default()).then(|| {
        let policy = args.gangs.binding_failure_policy.map(|policy| policy.name().into());
        let args =
            set_only(&[("placementScorers", filled(json!(scorers))), ("bindingFailurePolicy", policy)]);
        (Plugin::GangScheduling, args)
    });
    let typed = all.into_iter().chain(gangs).map(|(plugin, mut args)| {
        args["apiVersion"] = API_VERSION.into();
        args["kind"] = format!("{plugin}Args").into();
        json!({"name": plugin.name(), "args": args})
    });
    Value::Array(typed.collect())
}

fn fit(fit: &NodeResourcesFit) -> Value {
    let (name, points) = match &fit.strategy {
        ScoringStrategy::LeastAllocated => ("LeastAllocated", None),
        ScoringStrategy::MostAllocated => ("MostAllocated", None),
        ScoringStrategy::RequestedToCapacityRatio(points) => ("RequestedToCapacityRatio", Some(points)),
    };
    let resources =
        fit.resources.iter().map(|resource| json!({"name": resource.name, "weight": resource.weight}));
    let strategy = set_only(&[
        ("type", Some(name.into())),
        ("resources", Some(resources.collect())),
        ("requestedToCapacityRatio", points.map(|points| json!({"shape": shape(points)}))),
    ]);
    set_only(&[
        ("ignoredResources", filled(json!(fit.ignored_resources))),
        ("ignoredResourceGroups", filled(json!(fit.ignored_resource_groups))),
        ("scoringStrategy", Some(strategy)),
    ])
}

fn shape(points: &[ShapePoint]) -> Value {
    points.iter().map(|point| json!({"utilization": point.utilization, "score": point.score})).collect()
}

fn spread(defaults: &DefaultConstraints) -> Value {
    match defaults {
        DefaultConstraints::System => json!({"defaultingType": "System"}),
        DefaultConstraints::List(list) => set_only(&[
            ("defaultingType", Some("List".into())),
            ("defaultConstraints", filled(list.iter().map(constraint).collect())),
        ]),
    }
}

fn constraint(constraint: &DefaultConstraint) -> Value {
    let policy = |honor| Some(if honor { "Honor" } else { "Ignore" }.into());
    let keys: Vec<_> = constraint.match_label_keys.iter().map(|key| &**key).collect();
    set_only(&[
        ("maxSkew", Some(constraint.max_skew.into())),
        ("topologyKey", Some((*constraint.key).into())),
        (
            "whenUnsatisfiable",
            Some(if constraint.required { "DoNotSchedule" } else { "ScheduleAnyway" }.into()),
        ),
        ("minDomains", constraint.min_domains.map(Value::from)),
        ("nodeAffinityPolicy", policy(constraint.honor_affinity)),
        ("nodeTaintsPolicy", policy(constraint.honor_taints)),
        ("matchLabelKeys", filled(json!(keys))),
    ])
}

fn added_affinity(added: &AddedAffinity) -> Value {
    let required = added
        .required
        .as_ref()
        .map(|selector| json!({"nodeSelectorTerms": selector.terms.iter().map(term).collect::<Vec<_>>()}));
    let preferred =
        added.preferred.iter().map(|(weight, wish)| json!({"weight": weight, "preference": term(wish)}));
    set_only(&[
        ("requiredDuringSchedulingIgnoredDuringExecution", required),
        ("preferredDuringSchedulingIgnoredDuringExecution", filled(preferred.collect())),
    ])
}

fn term(term: &NodeTerm) -> Value {
    let list = |requirements: &[Requirement]| filled(requirements.iter().map(requirement).collect());
    set_only(&[("matchExpressions", list(&term.labels)), ("matchFields", list(&term.fields))])
}

fn requirement(requirement: &Requirement) -> Value {
    let values: Vec<_> = requirement.values.iter().map(|value| &**value).collect();
    set_only(&[
        ("key", Some((*requirement.key).into())),
        ("operator", Some(requirement.operator.name().into())),
        ("values", filled(json!(values))),
    ])
}

fn time(time: Duration) -> Value {
    duration::text(time).into()
}

/// A list that has something in it.
fn filled(list: Value) -> Option<Value> {
    Some(list).filter(|list| list.as_array().is_some_and(|list| !list.is_empty()))
}

/// A map of the fields that are set.
fn set_only(fields: &[(&str, Option<Value>)]) -> Value {
    let set = fields.iter().filter_map(|(name, value)| Some(((*name).to_owned(), value.clone()?)));
    Value::Object(set.collect())
}
