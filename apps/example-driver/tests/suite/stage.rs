//! An API server, the driver as a process, and a kubelet that is a gRPC client.

use kubelet::node::{Listener, Notice};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use caller::Leashed;
use caller::real::{Files, assets};
use client::{Connection, Resource};
use config::SchedulerSettings;
use gates::{Gate, Gates};
use objects::core::node::Node;
use objects::resource::claim::ResourceClaim;
use plugin::dra::v1::dra_plugin_client::DraPluginClient;
use plugin::dra::v1::{
    Claim, NodePrepareResourceResponse, NodePrepareResourcesRequest, NodeUnprepareResourcesRequest,
};
use serde_json::json;
use server::{NoLog, Options, Server, Users};
use store::Store;
use tokio::time::sleep;
use tonic::Status;
use tonic::transport::{Channel, Endpoint};

pub(crate) const DRIVER: &str = "device.example.com";
pub(crate) const LENDER: &str = "lender.example.com";

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the crate lies two folders deep")
        .to_owned()
}

/// An empty folder with a short path, as sockets need it.
pub(crate) fn folder(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("exd-{}-{name}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).expect("a folder");
    dir
}

/// All of it.
pub(crate) struct Stage {
    pub(crate) connection: Connection,
    pub(crate) dir: PathBuf,
    child: Option<Child>,
    /// What the driver runs besides, such as its part on a node.
    others: Vec<Child>,
    /// The programs of a real server.
    _programs: Vec<Leashed>,
}

impl Stage {
    /// On our own API server, with a node that is only an object.
    pub(crate) async fn set(name: &str) -> Self {
        let stage = Self::serve(name, Gates::default()).await;
        stage.make_node().await;
        stage
    }

    /// On our own API server, with a scheduler, controllers, and a node that speaks with drivers.
    pub(crate) async fn cluster(name: &str) -> Self {
        let gates = Gates::default()
            .with(Gate::DRADeviceCompatibilityGroups, true)
            .with(Gate::DRAControlPlaneController, true);
        let stage = Self::serve(name, gates).await;
        let scheduler = runtime::Options {
            settings: scheduling::settings(&SchedulerSettings::defaults(gates), gates),
            parallelism: 1,
            candidacy: None,
            aside: None,
            shadow: false,
            writes_max: 32,
            stop_within: Duration::from_secs(1),
            listener: Arc::new(()),
            recording: None,
        };
        tokio::spawn(runtime::run(stage.connection.clone(), scheduler, std::future::pending()));
        let controllers = upkeep::Options { gates, ..upkeep::Options::default() };
        tokio::spawn(upkeep::run(stage.connection.clone(), controllers, std::future::pending()));
        let mut node = kubelet::node::Options::new("n1", &stage.dir.join("k"));
        node.times.start = Duration::from_millis(10);
        node.times.stop = Duration::from_millis(10);
        node.retry_max = Duration::from_secs(1);
        let ears = Arc::new(Ears);
        tokio::spawn(kubelet::node::run(stage.connection.clone(), node, ears, std::future::pending()));
        stage
    }

    async fn serve(name: &str, gates: Gates) -> Self {
        let options = Options {
            listen: "127.0.0.1:0".parse().expect("an address"),
            credentials: None,
            users: Users::default().with_admin_token("t"),
            gates,
            store: Store::default(),
            log: Box::new(NoLog),
        };
        let server = Server::bind(options).await.expect("a free port");
        let url = format!("http://{}", server.address().expect("it listens"));
        tokio::spawn(server.serve(std::future::pending()));
        Self::on(folder(name), &url, None, Vec::new())
    }

    /// On a real API server, or nowhere if there is none on this machine.
    pub(crate) async fn real(name: &str) -> Option<Self> {
        let assets = match assets() {
            Ok(assets) => assets,
            Err(why) => {
                eprintln!("skipped: {why}");
                return None;
            }
        };
        let dir = folder(name);
        let files = Files::make(&dir, "t", &[]).expect("files");
        let mut real = files.programs(&assets).expect("programs");
        // Tests that end with their machine have nothing to lose.
        real.etcd.arg("--unsafe-no-fsync");
        let start = |program: &Command, name: &str| {
            Leashed::start(program, files.log(name).expect("a file")).expect("it starts")
        };
        let programs = vec![start(&real.server, "kube-apiserver"), start(&real.etcd, "etcd")];
        let url = format!("https://{}", real.address);
        let stage = Self::on(dir, &url, Some(&real.authority), programs);
        stage.make_node().await;
        Some(stage)
    }

    async fn make_node(&self) {
        let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1" } });
        let node: Node = serde_json::from_value(node).expect("the right form");
        // A real server takes its time to be ready.
        until("there is a node", || async {
            self.connection.create(&Resource::named("nodes"), &node).await.done().is_some()
        })
        .await;
    }

    fn on(dir: PathBuf, url: &str, authority: Option<&str>, programs: Vec<Leashed>) -> Self {
        let options = client::Options::default();
        let connection = Connection::from_parts(url, Some("t"), authority.map(str::as_bytes), &options);
        let connection = connection.expect("an address");
        let mut cluster = json!({ "server": url });
        if let Some(authority) = authority {
            let file = dir.join("authority.crt");
            fs::write(&file, authority).expect("a file");
            cluster["certificate-authority"] = json!(file);
        }
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{ "name": "c", "cluster": cluster }],
            "users": [{ "name": "u", "user": { "token": "t" } }],
            "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
        });
        fs::write(dir.join("kubeconfig"), kubeconfig.to_string()).expect("a file");
        Self { connection, dir, child: None, others: Vec::new(), _programs: programs }
    }

    /// Starts the driver with these words more, and waits for its socket.
    pub(crate) async fn start(&mut self, words: &[&str]) {
        let path = |name: &str| self.dir.join(name).display().to_string();
        let (root_dir, cdi_dir) = (path("k"), path("cdi"));
        let mut all = vec!["--node", "n1", "--inventory", "examples/driver/inventory.yaml"];
        all.extend(["--root-dir", &root_dir, "--cdi-dir", &cdi_dir]);
        all.extend(words);
        self.child = Some(self.spawn("log", &all));
        until("it serves", || async { self.log().contains("serving") }).await;
    }

    /// Starts the driver as a controller of its own with what this file lists.
    pub(crate) async fn start_lending(&mut self, stock: &str) {
        fs::write(self.dir.join("stock"), stock).expect("a file");
        let path = self.dir.join("stock").display().to_string();
        self.child = Some(self.spawn("log", &["--stock", &path, "--driver", LENDER]));
        until("it gives", || async { self.log().contains("giving") }).await;
    }

    /// Starts the part of the driver on the node, which reports what this file says.
    pub(crate) async fn start_reporting(&mut self, shelf: &str) {
        self.put_on_shelf(shelf);
        let path = self.dir.join("shelf").display().to_string();
        let root_dir = self.dir.join("k").display().to_string();
        let words = ["--shelf", &path, "--node", "n1", "--driver", LENDER, "--root-dir", &root_dir];
        let child = self.spawn("node-log", &words);
        self.others.push(child);
    }

    pub(crate) fn put_on_shelf(&self, shelf: &str) {
        let new = self.dir.join("shelf.new");
        fs::write(&new, shelf).expect("a file");
        fs::rename(&new, self.dir.join("shelf")).expect("the same folder");
    }

    fn spawn(&self, log: &str, words: &[&str]) -> Child {
        let log = File::create(self.dir.join(log)).expect("a file");
        Command::new(env!("CARGO_BIN_EXE_example-driver"))
            .arg("--kubeconfig")
            .arg(self.dir.join("kubeconfig"))
            .arg("--control")
            .arg(self.dir.join("control"))
            .args(words)
            .current_dir(root())
            .stdout(log.try_clone().expect("a file"))
            .stderr(log)
            .spawn()
            .expect("the binary was built for this test")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// Writes the switches in one go: one that reads them meanwhile would find none.
    pub(crate) fn set_switches(&self, control: &str) {
        let new = self.dir.join("control.new");
        fs::write(&new, control).expect("a file");
        fs::rename(&new, self.dir.join("control")).expect("the same folder");
    }

    /// Changes the switches while the driver runs.
    pub(crate) async fn switch(&self, control: &str) {
        let changes = self.log().matches("switches changed").count();
        self.set_switches(control);
        until("it sees the switch", || async { self.log().matches("switches changed").count() > changes })
            .await;
    }

    /// Ends the driver, kindly or not, and says with which code.
    pub(crate) async fn end(&mut self, kindly: bool) -> Option<i32> {
        let mut child = self.child.take().expect("it runs");
        if kindly {
            let pid = child.id().to_string();
            Command::new("kill").args(["-TERM", &pid]).status().expect("kill is there");
        } else {
            child.kill().expect("it runs");
        }
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                return status.code();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it does not end");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// The code with which the driver ended by itself.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let child = self.child.as_mut().expect("it was started");
        let began = Instant::now();
        loop {
            if let Some(status) = child.try_wait().expect("it is ours") {
                self.child = None;
                return status.code();
            }
            assert!(began.elapsed() < Duration::from_secs(10), "it does not end");
            sleep(Duration::from_millis(20)).await;
        }
    }

    /// A claim that has this device.
    pub(crate) async fn claim(&self, name: &str, device: &str) -> Claim {
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": { "name": name },
            "spec": { "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": "c" } }] } },
        });
        let claim: ResourceClaim = serde_json::from_value(claim).expect("the right form");
        let mut claim = self.connection.create(&claims, &claim).await.done().expect("a good claim");
        let result = json!({ "request": "r", "driver": DRIVER, "pool": "n1", "device": device });
        let status = json!({ "allocation": { "devices": { "results": [result] } } });
        claim.status = serde_json::from_value(status).expect("the right form");
        let claim = self.connection.update_status(&claims, &claim).await.done().expect("a good status");
        Claim { namespace: "default".to_owned(), name: name.to_owned(), uid: claim.metadata.uid }
    }

    pub(crate) async fn channel(&self, socket: &str) -> Channel {
        let path = self.dir.join("k").join(socket);
        let endpoint = Endpoint::from_shared(format!("unix://{}", path.display())).expect("an address");
        endpoint.connect().await.expect("it listens")
    }

    pub(crate) async fn prepare(
        &self,
        claim: &Claim,
    ) -> Result<BTreeMap<String, NodePrepareResourceResponse>, Status> {
        let mut client = DraPluginClient::new(self.channel(&format!("plugins/{DRIVER}/dra.sock")).await);
        let request = NodePrepareResourcesRequest { claims: vec![claim.clone()] };
        Ok(client.node_prepare_resources(request).await?.into_inner().claims)
    }

    pub(crate) async fn unprepare(&self, claim: &Claim) -> String {
        let mut client = DraPluginClient::new(self.channel(&format!("plugins/{DRIVER}/dra.sock")).await);
        let request = NodeUnprepareResourcesRequest { claims: vec![claim.clone()] };
        let answer = client.node_unprepare_resources(request).await.expect("an answer").into_inner();
        answer.claims[&claim.uid].error.clone()
    }

    pub(crate) fn cdi_files(&self) -> usize {
        fs::read_dir(self.dir.join("cdi")).map_or(0, Iterator::count)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in self.child.iter_mut().chain(&mut self.others) {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Waits until something is so.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, is_so: impl Fn() -> F) {
    let began = Instant::now();
    while !is_so().await {
        assert!(began.elapsed() < Duration::from_secs(60), "never: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// Prints what goes wrong on the node, for whoever looks into a test that failed.
struct Ears;

impl Listener for Ears {
    fn hear(&self, notice: &Notice<'_>) {
        if let Notice::Trouble { why } = notice {
            eprintln!("node: {why}");
        }
    }
}
