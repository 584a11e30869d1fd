//! Tests with lists as long as a request can bring them. What grows with the square of a list takes a minute of processor
//! time here and more, and what grows with the list one to four seconds; the bound is far from both.

use std::sync::Arc;
use std::time::{Duration, Instant};

use gates::Gates;
use schema::Document;
use serde_json::{Value, json};
use store::Store;

use crate::objects::{Done, Options, Site};
use crate::patch::Patch;
use crate::registry::{NoLog, Registry};
use crate::route::{Query, Target};
use crate::status::Failure;
use crate::{apply, respond, seed, upkeep};

const WITHIN: Duration = Duration::from_secs(15);

/// The time that this thread has computed, so that others on the same machine do not count; elsewhere than on Linux, all
/// the time that has passed.
fn computed(began: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = stat.and_then(|stat| stat.split_whitespace().next()?.parse().ok());
    nanos.map_or_else(|| began.elapsed(), Duration::from_nanos)
}

struct Bench {
    registry: Arc<Registry>,
    began: Instant,
}

impl Bench {
    async fn start() -> Self {
        let registry = Registry::new(Store::default(), Box::new(NoLog), Gates::default());
        seed::seed(&registry).await.expect("nothing is in the way of the first objects");
        Self { registry, began: Instant::now() }
    }

    async fn create(&self, path: &str, value: Value) -> Result<Done, Failure> {
        let target = Target::read(path).expect("a path");
        let site = Site::of(&target).expect("stored");
        self.registry.create(&site, Document { value, duplicates: Vec::new() }, &options()).await
    }

    async fn patch(&self, path: &str, patch: Patch) -> Result<Done, Failure> {
        let target = Target::read(path).expect("a path");
        self.registry.patch(&Site::of(&target).expect("stored"), &target, &patch, &options()).await
    }

    async fn apply(&self, path: &str, config: &Value) -> Result<Done, Failure> {
        let target = Target::read(path).expect("a path");
        let site = Site::of(&target).expect("stored");
        let query = Query::read(Some("fieldManager=bench&force=true"));
        let body = config.to_string();
        apply::apply(&self.registry, &site, &target, body.as_bytes(), &query, options()).await
    }

    fn check(self, what: &str) {
        let took = computed(self.began);
        assert!(took < WITHIN, "{what} took {took:?}");
    }
}

fn options() -> Options {
    Options::read(&Query::default(), "PatchOptions").expect("no options are fine")
}

fn pod(spec: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "long"},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    for (name, value) in spec.as_object().expect("fields of a spec") {
        pod["spec"][name] = value.clone();
    }
    pod
}

fn many(count: usize, make: impl Fn(usize) -> Value) -> Value {
    (0..count).map(make).collect()
}

const PODS: &str = "/api/v1/namespaces/default/pods";
const POD: &str = "/api/v1/namespaces/default/pods/long";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/long";

#[tokio::test]
async fn ports_that_do_or_do_not_overlap() {
    let bench = Bench::start().await;
    let same = many(40_000, |_| json!({"containerPort": 80}));
    let spec = json!({"containers": [{"name": "c", "image": "i", "ports": same}]});
    let done = bench.create(PODS, pod(&spec)).await.expect("nothing is wrong with the pod");
    assert_eq!(done.warnings.len(), 100, "some of the warnings");
    let answer = respond::with_warnings(respond::plain(201, respond::JSON, ""), &done.warnings);
    let sent = answer.headers().get_all("warning").iter().map(hyper::header::HeaderValue::len).sum::<usize>();
    assert!((1..8_192).contains(&sent), "warnings have {sent} bytes");

    let apart = many(
        40_000,
        |at| json!({"containerPort": 80, "hostPort": 1 + at, "hostIP": format!("10.0.{}.{}", at / 250, at % 250)}),
    );
    let spec = json!({"containers": [{"name": "c", "image": "i", "ports": apart}]});
    let mut other = pod(&spec);
    other["metadata"]["name"] = json!("other");
    let done = bench.create(PODS, other).await.expect("nothing is wrong with the pod");
    assert!(done.warnings.is_empty(), "{:?}", done.warnings.first());
    bench.check("making pods with 40,000 ports");
}

#[tokio::test]
async fn containers_that_are_merged_by_name() {
    let bench = Bench::start().await;
    let containers = |image: &str| many(12_000, |at| json!({"name": format!("c{at}"), "image": image}));
    bench.create(PODS, pod(&json!({"containers": containers("i")}))).await.expect("nothing is wrong");
    let order = many(12_000, |at| json!({"name": format!("c{at}")}));
    let patch = json!({"spec": {"$setElementOrder/containers": order, "containers": containers("j")}});
    bench.patch(POD, Patch::Strategic(patch)).await.expect("images can change");
    let gone = many(12_000, |at| json!({"name": format!("c{at}"), "$patch": "delete"}));
    let refused = bench.patch(POD, Patch::Strategic(json!({"spec": {"containers": gone}}))).await;
    assert_eq!(refused.err().map(|failure| failure.code), Some(422), "a pod keeps its containers");
    bench.apply(POD, &pod(&json!({"containers": containers("k")}))).await.expect("images can change");
    bench.check("merging 12,000 containers");
}

#[tokio::test]
async fn owners_and_finalizers() {
    let bench = Bench::start().await;
    let finalizers = many(40_000, |at| json!(format!("example.com/f{at}")));
    let owner = json!({"metadata": {"name": "owner", "finalizers": finalizers.clone()}});
    bench.create(MAPS, owner).await.expect("nothing is wrong");
    let target = Target::read(&format!("{MAPS}/owner")).expect("a path");
    let site = Site::of(&target).expect("stored");
    let stored = bench.registry.get(site.resource, &site.key("owner")).expect("it is there");
    let uid = site.value(&stored)["metadata"]["uid"].clone();
    // One owner that is there, by as many names as differ, and others that are not.
    let owners = many(20_000, |at| {
        let uid = if at % 2 == 0 { uid.clone() } else { json!(format!("u{at}")) };
        let controller =
            json!({"apiVersion": format!("v{at}"), "kind": "ConfigMap", "name": "owner", "uid": uid});
        if at % 4 == 0 {
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid, "controller": at == 0})
        } else {
            controller
        }
    });
    let owned = json!({"metadata": {"name": "long", "ownerReferences": owners, "finalizers": finalizers}});
    bench.create(MAPS, owned).await.expect("nothing is wrong");
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": many(40_000, |at| json!(format!("example.com/g{at}"))),
        "finalizers": many(40_000, |at| json!(format!("example.com/f{}", 40_000 - at)))}});
    bench.patch(MAP, Patch::Strategic(patch)).await.expect("finalizers are merged");
    upkeep::collect_garbage(&bench.registry).await.expect("the owner is there");
    bench.check("20,000 owners and 40,000 finalizers");
}

#[tokio::test]
async fn lists_that_are_compared_with_what_was_before() {
    let bench = Bench::start().await;
    let spec = json!({
        "schedulingGates": many(15_000, |at| json!({"name": format!("example.com/g{at}")})),
        "tolerations": many(15_000, |at| json!({"key": format!("k{at}"), "operator": "Exists"})),
        "topologySpreadConstraints": many(15_000, |at| {
            json!({"maxSkew": 1, "topologyKey": format!("k{at}"), "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}})
        }),
        "initContainers": many(5_000, |at| {
            let amounts = json!({format!("example.com/r{at}"): "1"});
            json!({"name": format!("i{at}"), "image": "i", "restartPolicy": "Always",
                "resources": {"limits": amounts, "requests": amounts}})
        }),
        "resources": {"limits": {"cpu": "1"}},
    });
    bench.create(PODS, pod(&spec)).await.expect("nothing is wrong");
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    bench.patch(POD, Patch::Merge(patch)).await.expect("labels can change");
    bench.check("a change of a pod with 15,000 gates, tolerations and constraints");
}

#[tokio::test]
async fn operations_that_move_long_lists_again_and_again() {
    let bench = Bench::start().await;
    let finalizers = many(100_000, |at| json!(format!("e.com/{at}")));
    bench.create(MAPS, json!({"metadata": {"name": "long", "finalizers": finalizers}})).await.expect("fine");
    let add = |_| json!({"op": "add", "path": "/metadata/finalizers/0", "value": "e.com/x"});
    let refused = bench.patch(MAP, Patch::Json(many(10_000, add))).await;
    let failure = refused.err().expect("that is too much");
    assert!(failure.message.contains("move more than 50000000 elements"), "{}", failure.message);
    bench.check("10,000 operations on 100,000 finalizers");
}
