//! `supercargo controllers` as a user meets it: beside an API server that has none, one leads and another takes over.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{self, Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use client::{Connection, Resource};
use objects::Object;
use objects::coordination::Lease;
use objects::core::pod::Pod;
use objects::resource::claim::{ResourceClaim, ResourceClaimTemplate};
use serde_json::{Value, json};

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("supercargo-controllers-{name}-{}", process::id()));
        fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A process that goes when the test does.
struct Running(Child);

impl Running {
    fn start(command: &mut Command, log: &Path) -> Self {
        let log = File::create(log).expect("a file can be made");
        Self(command.stdout(Stdio::null()).stderr(log).spawn().expect("the binary was built for this test"))
    }

    /// Tells it to stop, and says how it ended.
    fn stop(mut self) -> Option<i32> {
        let id = self.0.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill");
        self.0.wait().expect("it is ours").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn supercargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_supercargo"));
    command.args(arguments);
    command
}

fn output(arguments: &[&str]) -> Output {
    supercargo(arguments).output().expect("the binary was built for this test")
}

fn controllers(folder: &Folder, name: &str) -> Running {
    let mut command = supercargo(&["controllers", "--secure-port", "0", "-v", "4", "--kubeconfig"]);
    Running::start(command.arg(folder.file("kubeconfig")), &folder.file(name))
}

/// Looks until there is something to see.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{what} was not seen");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn read<K: Object>(value: &Value) -> K {
    K::read_value(value).expect("a good object")
}

fn template() -> ResourceClaimTemplate {
    let request = json!({ "name": "gpu", "exactly": { "deviceClassName": "gpu" } });
    read(&json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
        "metadata": { "name": "t", "namespace": "default" },
        "spec": { "spec": { "devices": { "requests": [request] } } },
    }))
}

fn pod(name: &str) -> Pod {
    let entry = json!({ "name": "gpu", "resourceClaimTemplateName": "t" });
    let container = json!({ "name": "c", "image": "i", "resources": { "claims": [{ "name": "gpu" }] } });
    read(&json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
        "spec": { "containers": [container], "resourceClaims": [entry] },
    }))
}

/// Makes a pod, and waits until a claim was made for it.
async fn claimed(connection: &Connection, name: &str) {
    let pods = Resource::<Pod>::named("pods").within("default");
    connection.create(&pods, &pod(name)).await.done().expect("a good pod");
    let claim = until("the claim of a pod", async || {
        let pod = connection.get(&pods, name).await.done()?;
        pod.status.resource_claim_statuses.first()?.resource_claim_name.clone()
    });
    let claim = claim.await;
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
    assert!(connection.get(&claims, &claim).await.done().is_some());
}

/// An API server that writes its kubeconfig into the folder, and a connection to it.
async fn server(folder: &Folder) -> (Running, Connection) {
    let mut server = supercargo(&["apiserver", "--listen", "127.0.0.1:0", "--write-kubeconfig"]);
    let server = Running::start(server.arg(folder.file("kubeconfig")), &folder.file("apiserver.log"));
    let connection = until("the server", async || {
        let options = client::Options::default();
        Connection::from_kubeconfig(&folder.file("kubeconfig"), None, &options).await.ok()
    });
    (server, connection.await)
}

#[tokio::test]
async fn controllers_beside_those_of_kubernetes_are_warned_of() {
    let folder = Folder::new("beside");
    let (_server, connection) = server(&folder).await;
    let leases = Resource::<Lease>::named("leases").within("kube-system");
    let lease: Lease = read(&json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "kube-controller-manager", "namespace": "kube-system" },
        "spec": { "holderIdentity": "control-plane-0" },
    }));
    until("the lease", async || connection.create(&leases, &lease).await.done()).await;
    let _controllers = controllers(&folder, "log");
    let warning = until("the warning", async || {
        let log = fs::read_to_string(folder.file("log")).ok()?;
        log.lines().find(|line| line.contains("kube-controller-manager may run these")).map(str::to_owned)
    });
    let warning = warning.await;
    assert!(warning.contains("job-controller") && warning.contains("control-plane-0"), "{warning}");
}

#[tokio::test]
async fn one_of_two_makes_claims_and_the_other_goes_on_when_it_is_stopped() {
    let folder = Folder::new("two");
    let (_server, connection) = server(&folder).await;
    let templates = Resource::<ResourceClaimTemplate>::named("resourceclaimtemplates").within("default");
    until("the template", async || connection.create(&templates, &template()).await.done()).await;
    let leases = Resource::<Lease>::named("leases").within("kube-system");
    let holder = async || {
        let lease = connection.get(&leases, "supercargo-controllers").await.done()?;
        lease.spec.holder_identity.filter(|holder| !holder.is_empty())
    };
    let first = controllers(&folder, "first.log");
    let led = until("a leader", &holder).await;
    let _second = controllers(&folder, "second.log");
    claimed(&connection, "one").await;
    until("that another stands by", async || {
        fs::read_to_string(folder.file("second.log")).ok()?.contains("standing by").then_some(())
    })
    .await;
    assert_eq!(first.stop(), Some(0), "{}", fs::read_to_string(folder.file("first.log")).unwrap_or_default());
    claimed(&connection, "two").await;
    let leads = until("the next leader", &holder).await;
    assert_ne!(led, leads);
}

#[test]
fn controllers_have_names_and_a_wrong_one_is_told() {
    let listed = output(&["controllers", "--list"]);
    let names = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(names.lines().any(|name| name == "resourceclaim-controller"), "{names}");
    let wrong = output(&["controllers", "--controllers", "*,-claims"]);
    assert_eq!(wrong.status.code(), Some(2));
    let told = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        told.starts_with(
            "error: unknown controller \"claims\"\nhint: the controllers are resourceclaim-controller"
        ),
        "{told}"
    );
}
