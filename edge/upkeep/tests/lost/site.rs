//! A server with controllers that can be stopped and started again, and objects for it.

use std::time::{Duration, Instant};

use client::{Connection, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::Gates;
use objects::Object;
use objects::coordination::Lease;
use objects::core::node::Node;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};
use server::{NoLog, Options, Server, Users};
use store::Store;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use upkeep::Grace;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long a node may be silent here.
pub(crate) const GRACE: Duration = Duration::from_millis(1500);

/// How long a node must be missing here.
pub(crate) const QUARANTINE: Duration = Duration::from_millis(500);

/// A server.
pub(crate) struct Site {
    pub(crate) connection: Connection,
}

/// Controllers that run.
pub(crate) struct Crew {
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Crew {
    /// Stops them, as if they had died after their last write.
    pub(crate) async fn stop(self) {
        drop(self.stop);
        self.running.await.expect("they end");
    }
}

/// Kinds that the tests speak of.
pub(crate) trait Known: Object + std::fmt::Debug {
    fn all() -> Resource<Self>;
}

macro_rules! known {
    ($($kind:ty = $plural:literal $(in $namespace:literal)?),* $(,)?) => {
        $(impl Known for $kind {
            fn all() -> Resource<Self> {
                Resource::named($plural)$(.within($namespace))?
            }
        })*
    };
}

known! {
    Node = "nodes",
    Lease = "leases" in "kube-node-lease",
    Pod = "pods" in "default",
    ResourceClaim = "resourceclaims" in "default",
    ResourceSlice = "resourceslices",
    DeviceTaintRule = "devicetaintrules",
    PodSchedulingContext = "podschedulingcontexts" in "default",
}

impl Site {
    /// A server with nothing in it.
    pub(crate) async fn open() -> Site {
        let options = Options {
            listen: "127.0.0.1:0".parse().expect("an address"),
            credentials: None,
            users: Users::default().with_admin_token("t"),
            gates: Gates::all_on(),
            store: Store::default(),
            log: Box::new(NoLog),
        };
        let server = Server::bind(options).await.expect("a free port");
        let url = format!("http://{}", server.address().expect("it listens"));
        tokio::spawn(server.serve(std::future::pending()));
        let connection =
            Connection::from_parts(&url, Some("t"), None, &client::Options::default()).expect("an address");
        Site { connection }
    }

    /// Controllers with short times.
    pub(crate) fn crew(&self) -> Crew {
        let limits = upkeep::Limits {
            grace: Grace { silent: GRACE, starting: GRACE },
            quarantine: QUARANTINE,
            settle: Duration::ZERO,
            ended_pods_max: 2,
        };
        let options = upkeep::Options { limits, gates: Gates::all_on(), ..upkeep::Options::default() };
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(upkeep::run(self.connection.clone(), options, async {
            let _ = stopped.await;
        }));
        Crew { stop, running }
    }

    /// Makes an object, with its status.
    pub(crate) async fn make<K: Known>(&self, object: Value) -> K {
        let mut whole = object;
        whole["apiVersion"] = json!(K::API_VERSION);
        whole["kind"] = json!(K::KIND);
        let status = whole.get("status").cloned();
        let object = K::read_value(&whole).expect("a good object");
        let made = accepted(self.connection.create(&K::all(), &object).await);
        let Some(status) = status else { return made };
        self.say::<K>(&made.metadata().name, &json!({ "status": status })).await
    }

    /// Changes the status of an object.
    pub(crate) async fn say<K: Known>(&self, name: &str, patch: &Value) -> K {
        accepted(self.connection.patch_status(&K::all(), name, &client::Patch::Merge, patch).await)
    }

    /// Changes an object.
    pub(crate) async fn change<K: Known>(&self, name: &str, patch: &Value) -> K {
        accepted(self.connection.patch(&K::all(), name, &client::Patch::Merge, patch).await)
    }

    /// An object, if it is there.
    pub(crate) async fn get<K: Known>(&self, name: &str) -> Option<K> {
        self.connection.get(&K::all(), name).await.done()
    }

    /// Deletes an object.
    pub(crate) async fn delete<K: Known>(&self, name: &str) {
        let deleted = self.connection.delete(&K::all(), name, &DeleteOptions::default()).await;
        deleted.done().expect("it is there");
    }

    /// Looks at an object until something is so.
    pub(crate) async fn until<K: Known>(&self, name: &str, is_so: impl Fn(Option<&K>) -> bool) -> Option<K> {
        let began = Instant::now();
        loop {
            let object = self.get::<K>(name).await;
            if is_so(object.as_ref()) {
                return object;
            }
            assert!(began.elapsed() < PATIENCE, "{name} never became what it should: {object:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Looks at an object for a while, in which something must be so.
    pub(crate) async fn all_the_time<K: Known>(
        &self,
        name: &str,
        time: Duration,
        is_so: impl Fn(Option<&K>) -> bool,
    ) {
        let began = Instant::now();
        while began.elapsed() < time {
            let object = self.get::<K>(name).await;
            assert!(is_so(object.as_ref()), "{name} became what it should not: {object:?}");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits for an event about an object.
    pub(crate) async fn event(&self, object: &str, reason: &str, note: &str) {
        let events = Resource::<Event>::named("events");
        let (all, options) = (Selectors::default(), WatchOptions::default());
        let stream = self.connection.list_and_watch(&events, &all, &options);
        let found = stream.filter_map(|event| async move {
            let client::Event::Applied(event) = event else { return None };
            let is_it = event.regarding.name == object && event.reason == reason && event.note.contains(note);
            is_it.then_some(())
        });
        let found = tokio::time::timeout(PATIENCE, Box::pin(found).next()).await;
        assert!(found.is_ok(), "no event {reason} about {object} says {note:?}");
    }

    /// A node that says that it is ready, and its lease.
    pub(crate) async fn node(&self, name: &str) {
        self.make::<Node>(
            json!({ "metadata": { "name": name }, "status": { "conditions": [ready("True")] } }),
        )
        .await;
        let spec = json!({ "holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": renewal(0) });
        self.make::<Lease>(
            json!({ "metadata": { "name": name, "namespace": "kube-node-lease" }, "spec": spec }),
        )
        .await;
    }

    /// Renews a node's lease without end, by a clock that is far behind.
    pub(crate) fn keep_alive(&self, node: &'static str) -> JoinHandle<()> {
        let connection = self.connection.clone();
        tokio::spawn(async move {
            for count in 1.. {
                let patch = json!({ "spec": { "renewTime": renewal(count) } });
                let _ = connection.patch(&Lease::all(), node, &client::Patch::Merge, &patch).await;
                sleep(GRACE / 15).await;
            }
        })
    }

    /// A pod on a node, with this in its specification besides.
    pub(crate) async fn pod(&self, name: &str, node: &str, more: Value) -> Pod {
        let containers = json!([{ "name": "c", "image": "i" }]);
        let mut spec = json!({ "containers": containers, "nodeName": node });
        for (key, value) in more.as_object().into_iter().flatten() {
            spec[key] = value.clone();
        }
        let pod = json!({ "metadata": { "name": name }, "spec": spec });
        self.make::<Pod>(pod).await;
        let running = json!({ "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] });
        self.say::<Pod>(name, &json!({ "status": running })).await
    }

    /// A claim with the device `gpu-0` of the driver's pool `shelf`, reserved for a pod or for somebody else.
    pub(crate) async fn claim(
        &self,
        name: &str,
        owner: Value,
        tolerations: Value,
        user: Value,
    ) -> ResourceClaim {
        let exactly = json!({ "deviceClassName": "gpu" });
        let requests = json!([{ "name": "gpu", "exactly": exactly }]);
        let finalizers = json!(["resource.kubernetes.io/delete-protection"]);
        let metadata = json!({ "name": name, "finalizers": finalizers, "ownerReferences": owner });
        let result = json!({
            "request": "gpu", "driver": "gpu.example.com", "pool": "shelf", "device": "gpu-0", "tolerations": tolerations,
        });
        let status = json!({ "allocation": { "devices": { "results": [result] } }, "reservedFor": [user] });
        let spec = json!({ "devices": { "requests": requests } });
        self.make::<ResourceClaim>(json!({ "metadata": metadata, "spec": spec, "status": status })).await
    }

    /// The node `n`, and the pool `shelf` with the device `gpu-0`, which it reaches.
    pub(crate) async fn shelf(&self) {
        self.make::<Node>(json!({ "metadata": { "name": "n" } })).await;
        self.make::<ResourceSlice>(json!({
            "metadata": { "name": "shelf" },
            "spec": {
                "driver": "gpu.example.com", "allNodes": true, "devices": [{ "name": "gpu-0" }],
                "pool": { "name": "shelf", "generation": 1, "resourceSliceCount": 1 },
            },
        }))
        .await;
    }
}

/// What a request made.
fn accepted<K>(answer: client::Answer<K>) -> K {
    let trouble = answer.trouble();
    answer.done().ok_or(trouble).expect("the server takes it")
}

/// A condition of a node.
pub(crate) fn ready(status: &str) -> Value {
    json!({ "type": "Ready", "status": status, "lastHeartbeatTime": "2020-01-02T03:04:05Z" })
}

fn renewal(count: u32) -> String {
    format!("2001-01-02T03:{:02}:{:02}.000000Z", count / 60 % 60, count % 60)
}

/// A pod as the user of a claim.
pub(crate) fn user(pod: &Pod) -> Value {
    json!({ "resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid })
}

pub(crate) fn goes(pod: Option<&Pod>) -> bool {
    pod.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some())
}

pub(crate) fn stays(pod: Option<&Pod>) -> bool {
    pod.is_some_and(|pod| pod.metadata.deletion_timestamp.is_none())
}

/// What a condition of a pod says: its status and its reason.
pub(crate) fn condition(pod: &Pod, name: &str) -> Option<(String, String)> {
    let mut conditions = pod.status.conditions.iter();
    let condition = conditions.find(|condition| condition.type_ == name)?;
    Some((condition.status.clone(), condition.reason.clone()))
}
