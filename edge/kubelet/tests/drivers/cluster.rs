//! A cluster with one node that speaks with drivers, and with nothing else: tests write what a scheduler would.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use client::{Connection, Patch, Resource, Selectors, WatchOptions};
use futures_util::StreamExt;
use gates::Gates;
use kubelet::node::{self, Listener, NodeError, Notice, Options};
use objects::Object;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use parking_lot::Mutex;
use serde_json::{Value, json};
use server::{NoLog, Server, Users};
use store::Store;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::driver::{Driver, Manner, Role};

/// The name of the node.
pub(crate) const NODE: &str = "node-1";

/// The longest that a state may take to come about. It is far more than it takes, so that a slow machine fails no test.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server, and a folder for a node and its drivers, which goes when this is dropped.
pub(crate) struct Cluster {
    pub(crate) connection: Connection,
    pub(crate) root: PathBuf,
    /// What the node told of itself.
    pub(crate) heard: Arc<Heard>,
    node: Option<JoinHandle<Result<(), NodeError>>>,
}

/// Notes what a node tells of itself.
#[derive(Default)]
pub(crate) struct Heard(Mutex<Vec<String>>);

impl Listener for Heard {
    fn hear(&self, notice: &Notice<'_>) {
        if let Notice::Trouble { why } = notice {
            eprintln!("{why}");
        }
        self.0.lock().push(format!("{notice:?}"));
    }
}

impl Heard {
    /// Whether something was told that has all these words.
    pub(crate) fn has(&self, words: &[&str]) -> bool {
        self.0.lock().iter().any(|told| words.iter().all(|word| told.contains(word)))
    }
}

impl Cluster {
    /// A cluster whose node does not run yet.
    pub(crate) async fn without_node() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let root = env::temp_dir().join(format!("sc-node-{}-{number}", process::id()));
        let options = server::Options {
            listen: "127.0.0.1:0".parse().expect("an address"),
            credentials: None,
            users: Users::default().with_admin_token("t"),
            gates: Gates::default(),
            store: Store::default(),
            log: Box::new(NoLog),
        };
        let server = Server::bind(options).await.expect("a free port");
        let url = format!("http://{}", server.address().expect("it listens"));
        tokio::spawn(server.serve(std::future::pending()));
        let connection =
            Connection::from_parts(&url, Some("t"), None, &client::Options::default()).expect("an address");
        Self { connection, root, heard: Arc::default(), node: None }
    }

    /// A cluster with its node.
    pub(crate) async fn start() -> Self {
        let mut cluster = Self::without_node().await;
        cluster.start_node();
        // A driver whose socket has no directory yet ends, and here nobody starts it again.
        let registry = cluster.root.join("plugins_registry");
        until("the directory of sockets", async || registry.is_dir().then_some(())).await;
        cluster
    }

    /// Starts the node, with times that do not make tests long.
    pub(crate) fn start_node(&mut self) {
        let mut options = Options::new(NODE, &self.root);
        options.times.start = Duration::from_millis(10);
        options.times.stop = Duration::from_millis(10);
        options.call_timeout = Duration::from_secs(2);
        options.wipe_after = Duration::from_millis(300);
        options.retry_first = Duration::from_millis(50);
        options.retry_max = Duration::from_millis(300);
        options.look_every = Duration::from_millis(20);
        options.health_again = Duration::from_millis(100);
        let running = node::run(self.connection.clone(), options, self.heard.clone(), std::future::pending());
        self.node = Some(tokio::spawn(running));
    }

    /// Ends the node without a warning.
    pub(crate) async fn kill_node(&mut self) {
        let node = self.node.take().expect("it runs");
        node.abort();
        assert!(node.await.expect_err("it was ended").is_cancelled());
    }

    /// What the node said when it ended by itself.
    pub(crate) async fn end_of_node(&mut self) -> Result<(), NodeError> {
        self.node.take().expect("it runs").await.expect("it does not panic")
    }

    pub(crate) fn driver(&self, name: &str, manner: Manner) -> Driver {
        self.driver_with(name, manner, &["v1.DRAPlugin", "v1beta1.DRAPlugin"])
    }

    pub(crate) fn driver_with(&self, name: &str, manner: Manner, services: &[&str]) -> Driver {
        Driver::start(self.role(name, manner, services))
    }

    fn role(&self, name: &str, manner: Manner, services: &[&str]) -> Role {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).take(20).collect();
        Role {
            name: name.to_owned(),
            registry: self.root.join("plugins_registry"),
            home: self.root.join("plugins").join(plain),
            manner,
            services: services.iter().map(|&service| service.to_owned()).collect(),
        }
    }

    /// A pod on the node that uses a claim.
    pub(crate) async fn pod(&self, name: &str, claim: &str) -> Pod {
        let spec = json!({
            "nodeName": NODE,
            "containers": [{ "name": "main", "image": "i", "resources": { "claims": [{ "name": "devices" }] } }],
            "resourceClaims": [{ "name": "devices", "resourceClaimName": claim }],
        });
        self.create(
            "pods",
            json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name }, "spec": spec }),
        )
        .await
    }

    /// A claim that nobody has looked at yet.
    pub(crate) async fn claim(&self, name: &str) -> ResourceClaim {
        let request = json!({ "name": "r", "exactly": { "deviceClassName": "c" } });
        let spec = json!({ "devices": { "requests": [request] } });
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": name }, "spec": spec,
        });
        self.create("resourceclaims", claim).await
    }

    /// Gives a claim a device of a driver, and reserves it for pods.
    pub(crate) async fn allocate(&self, claim: &str, driver: &str, pods: &[&Pod]) {
        let device = json!({ "request": "r", "driver": driver, "pool": "pool", "device": "device-0" });
        let user =
            |pod: &&Pod| json!({ "resource": "pods", "name": pod.metadata.name, "uid": pod.metadata.uid });
        let status = json!({
            "allocation": { "devices": { "results": [device] } },
            "reservedFor": pods.iter().map(user).collect::<Vec<_>>(),
        });
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
        let patch = json!({ "status": status });
        let answer = self.connection.patch_status(&claims, claim, &Patch::Merge, &patch).await;
        assert!(answer.trouble().is_none(), "{:?}", answer.trouble());
    }

    /// A pod with a claim that has a device of a driver.
    pub(crate) async fn pod_with_device(&self, name: &str, driver: &str) -> Pod {
        self.claim(name).await;
        let pod = self.pod(name, name).await;
        self.allocate(name, driver, &[&pod]).await;
        pod
    }

    pub(crate) async fn create<K: Object>(&self, plural: &'static str, object: Value) -> K {
        let object = K::read_value(&object).expect("a good object");
        let namespace = if plural == "resourceslices" { "" } else { "default" };
        let answer = self.connection.create(&Resource::named(plural).within(namespace), &object).await;
        assert!(answer.trouble().is_none(), "{:?}", answer.trouble());
        answer.done().expect("there is no trouble")
    }

    /// Asks that a pod goes, in its time or, by force, at once.
    pub(crate) async fn delete_pod(&self, name: &str, by_force: bool) {
        let options =
            DeleteOptions { grace_period_seconds: by_force.then_some(0), ..DeleteOptions::default() };
        self.connection.delete(&pods(), name, &options).await.done().expect("it is there");
    }

    /// Waits until a pod is in a phase.
    pub(crate) async fn phase(&self, name: &str, phase: &str) -> Pod {
        let is_so = |pod: Option<Pod>| pod.filter(|pod| pod.status.phase == phase);
        until(name, async || is_so(self.connection.get(&pods(), name).await.done())).await
    }

    /// Waits until a pod is gone.
    pub(crate) async fn gone(&self, name: &str) {
        until(name, async || self.connection.get(&pods(), name).await.done().is_none().then_some(())).await;
    }

    /// Waits for an event about an object whose note has all these words.
    pub(crate) async fn event(&self, object: &str, words: &[&str]) -> Event {
        let is_it = |event: &Event| {
            event.regarding.name == object && words.iter().all(|word| event.note.contains(word))
        };
        until(&words.join(" "), async || self.events().await.into_iter().find(is_it)).await
    }

    pub(crate) async fn events(&self) -> Vec<Event> {
        let events = Resource::<Event>::named("events").within("default");
        let options = WatchOptions::default();
        let stream = self.connection.list_and_watch(&events, &Selectors::default(), &options);
        let mut stream = Box::pin(stream);
        let mut found = Vec::new();
        while let Some(event) = stream.next().await {
            match event {
                client::Event::Applied(event) => found.push(event),
                client::Event::Synced { .. } => break,
                _ => {}
            }
        }
        found
    }

    /// What the node keeps of prepared claims.
    pub(crate) fn checkpoint(&self) -> String {
        fs::read_to_string(self.root.join("dra_manager_state")).unwrap_or_default()
    }

    /// The file that says which devices the containers of a pod get.
    pub(crate) fn devices(&self, pod: &Pod) -> Value {
        let path = self.root.join("pods").join(&pod.metadata.uid).join("devices.json");
        fs::read_to_string(path).map_or(Value::Null, |text| serde_json::from_str(&text).expect("JSON"))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if let Some(node) = &self.node {
            node.abort();
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

pub(crate) fn pods() -> Resource<Pod> {
    Resource::named("pods").within("default")
}

/// Asks again and again until there is an answer.
pub(crate) async fn until<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "it never came about: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Waits until a driver has been called so.
pub(crate) async fn called(driver: &Driver, call: &str) {
    until(call, async || driver.calls().iter().any(|one| one.starts_with(call)).then_some(())).await;
}
