//! A plugin on real sockets, with a kubelet that is a gRPC client of the test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use ::plugin::dra::v1::dra_plugin_client::DraPluginClient as ClaimsV1;
use ::plugin::dra::v1beta1::dra_plugin_client::DraPluginClient as ClaimsV1Beta1;
use ::plugin::dra::{v1, v1beta1};
use ::plugin::health::v1 as health;
use ::plugin::health::v1::dra_resource_health_client::DraResourceHealthClient;
use ::plugin::registration::registration_client::RegistrationClient;
use ::plugin::registration::{InfoRequest, RegistrationStatus};
use client::{Connection, Resource};
use driver_kit::api::{Device, ResourceClaim};
use driver_kit::{
    CdiDir, ClaimReference, ContainerEdits, Describe, DeviceHealth, DeviceState, Driver, Failure, Health,
    HealthReports, Plugin, PluginOptions, Pool, PreparedDevice, ReportError, StatusReporter, Trouble,
    own_results,
};
use futures_util::{StreamExt, stream};
use gates::Gates;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use tonic::transport::{Channel, Endpoint};

use crate::stage::{until, with_node};

const DRIVER: &str = "gpu.example.com";

/// A driver that does little, and notes what it is asked.
#[derive(Clone)]
struct Sample {
    cdi: CdiDir,
    asked: Arc<Mutex<Vec<String>>>,
    at_once: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Sample {
    fn new(dir: &Path) -> Self {
        let cdi = CdiDir::new(dir.join("cdi"), DRIVER, "gpu").expect("good names");
        Self { cdi, asked: Arc::default(), at_once: Arc::default(), most_at_once: Arc::default() }
    }

    fn note(&self, what: String) {
        self.asked.lock().expect("nobody panicked").push(what);
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }
}

impl Driver for Sample {
    async fn prepare(&self, claim: &ResourceClaim) -> Result<Vec<PreparedDevice>, Failure> {
        self.note(format!("prepare {}", claim.metadata.name));
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        sleep(Duration::from_millis(50)).await;
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        match &*claim.metadata.name {
            "broken" => return Err("the device does not answer".into()),
            "panic" => unreachable!("on purpose"),
            _ => {}
        }
        let results: Vec<_> = own_results(claim, DRIVER).collect();
        let devices: Vec<_> =
            results.iter().map(|result| (result.device.clone(), ContainerEdits::default())).collect();
        let ids = self.cdi.write(&claim.metadata.uid, &devices)?;
        let ready = |(result, id): (&&_, String)| PreparedDevice::of(result, vec![id]);
        let mut ready: Vec<PreparedDevice> = results.iter().zip(ids).map(ready).collect();
        if claim.metadata.name == "confused" {
            ready[0].device = "gpu-7".to_owned();
        }
        Ok(ready)
    }

    async fn unprepare(&self, claim: &ClaimReference) -> Result<(), Failure> {
        self.note(format!("unprepare {claim}"));
        Ok(self.cdi.remove(&claim.uid)?)
    }

    fn health(&self) -> Option<HealthReports> {
        let device = DeviceHealth {
            pool: "n1".to_owned(),
            device: "gpu-0".to_owned(),
            health: Health::Unhealthy,
            at: SystemTime::now(),
            valid_for: Duration::from_millis(100),
            message: "too hot".to_owned(),
        };
        Some(stream::once(async { vec![device] }).chain(stream::pending()).boxed())
    }

    fn trouble(&self, trouble: &Trouble) {
        self.note(trouble.to_string());
    }
}

/// A server, a plugin, and where its sockets are.
struct Scene {
    connection: Connection,
    dir: PathBuf,
    driver: Sample,
    plugin: Plugin<Sample>,
}

impl Scene {
    async fn set(name: &str, change: impl FnOnce(&mut PluginOptions)) -> Self {
        // Sockets have short paths, and the folder of the build has a long one.
        let dir = std::env::temp_dir().join(format!("kit-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        let connection = with_node(Gates::default()).await;
        let mut options = PluginOptions::below(&dir, DRIVER, "n1");
        change(&mut options);
        fs::create_dir_all(&options.registry_dir).expect("a folder");
        fs::write(options.registry_dir.join(format!("{DRIVER}-reg.sock")), "left by a crash")
            .expect("a file");
        let driver = Sample::new(&dir);
        let plugin = Plugin::start(connection.clone(), options, driver.clone()).expect("it starts");
        Self { connection, dir, driver, plugin }
    }

    async fn claim(&self, name: &str, devices: &[&str]) -> v1::Claim {
        let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
        let alternatives = json!([{ "name": "big", "deviceClassName": "gpu" }]);
        let request = json!({ "name": "gpu", "firstAvailable": alternatives });
        let claim = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim",
            "metadata": { "name": name }, "spec": { "devices": { "requests": [request] } },
        });
        let claim: ResourceClaim = serde_json::from_value(claim).expect("the right form");
        let mut claim = self.connection.create(&claims, &claim).await.done().expect("a good claim");
        let result = |device: &&str| {
            let (driver, device) = device.split_once('/').unwrap_or((DRIVER, device));
            json!({ "request": "gpu/big", "driver": driver, "pool": "n1", "device": device })
        };
        if !devices.is_empty() {
            let results: Vec<Value> = devices.iter().map(result).collect();
            claim.status =
                serde_json::from_value(json!({ "allocation": { "devices": { "results": results } } }))
                    .expect("the right form");
            claim = self.connection.update_status(&claims, &claim).await.done().expect("a good status");
        }
        v1::Claim { namespace: "default".to_owned(), name: name.to_owned(), uid: claim.metadata.uid }
    }

    async fn claims(&self) -> ClaimsV1<Channel> {
        ClaimsV1::new(connect(&self.dir.join("plugins").join(DRIVER).join("dra.sock")).await)
    }

    async fn prepare(&self, claims: Vec<v1::Claim>) -> BTreeMap<String, v1::NodePrepareResourceResponse> {
        let request = v1::NodePrepareResourcesRequest { claims };
        let answer = self.claims().await.node_prepare_resources(request).await;
        answer.expect("an answer").into_inner().claims
    }
}

async fn connect(socket: &Path) -> Channel {
    let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display())).expect("an address");
    endpoint.connect().await.expect("it listens")
}

fn files(dir: &Path) -> usize {
    fs::read_dir(dir).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_finds_the_plugin_and_prepares_and_unprepares_claims() {
    let scene = Scene::set("life", |_| {}).await;
    let mut registration = RegistrationClient::new(
        connect(&scene.dir.join(format!("plugins_registry/{DRIVER}-reg.sock"))).await,
    );
    let card = registration.get_info(InfoRequest {}).await.expect("an answer").into_inner();
    assert_eq!((&*card.r#type, &*card.name), ("DRAPlugin", DRIVER));
    assert!(card.endpoint.ends_with("plugins/gpu.example.com/dra.sock"), "{}", card.endpoint);
    let versions =
        ["v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"];
    assert_eq!(card.supported_versions, versions);
    let status = RegistrationStatus { plugin_registered: true, error: String::new() };
    registration.notify_registration_status(status).await.expect("an answer");
    scene.plugin.registered().await;

    let claim = scene.claim("a", &["gpu-0", "nic.example.com/nic-0"]).await;
    let first = scene.prepare(vec![claim.clone()]).await;
    let id = format!("{DRIVER}/gpu={}-gpu-0", claim.uid);
    let device = v1::Device {
        request_names: vec!["gpu".to_owned()],
        pool_name: "n1".to_owned(),
        device_name: "gpu-0".to_owned(),
        cdi_device_ids: vec![id.clone()],
        share_id: None,
    };
    let expected = v1::NodePrepareResourceResponse { devices: vec![device], error: String::new() };
    assert_eq!(first, BTreeMap::from([(claim.uid.clone(), expected)]));
    assert_eq!(scene.prepare(vec![claim.clone()]).await, first, "again");
    assert_eq!(files(&scene.dir.join("cdi")), 1);

    let older = v1beta1::Claim { namespace: claim.namespace, name: claim.name, uid: claim.uid };
    let socket = scene.dir.join("plugins").join(DRIVER).join("dra.sock");
    let mut client = ClaimsV1Beta1::new(connect(&socket).await);
    let request = v1beta1::NodePrepareResourcesRequest { claims: vec![older.clone()] };
    let answer = client.node_prepare_resources(request).await.expect("an answer").into_inner();
    assert_eq!(answer.claims[&older.uid].devices[0].cdi_device_ids, [id]);
    let request = v1beta1::NodeUnprepareResourcesRequest { claims: vec![older.clone()] };
    let answer = client.node_unprepare_resources(request).await.expect("an answer").into_inner();
    assert_eq!(answer.claims[&older.uid].error, "");
    assert_eq!(files(&scene.dir.join("cdi")), 0);

    let (dir, plugin) = (scene.dir.clone(), scene.plugin);
    drop((registration, client));
    timeout(Duration::from_secs(10), plugin.stop()).await.expect("it stops");
    assert_eq!((files(&dir.join("plugins_registry")), socket.exists()), (0, false));
    fs::remove_dir_all(dir).expect("ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_fails_spoils_no_other_and_says_why() {
    let scene = Scene::set("errors", |_| {}).await;
    let good = scene.claim("good", &["gpu-0"]).await;
    let broken = scene.claim("broken", &["gpu-1"]).await;
    let confused = scene.claim("confused", &["gpu-2"]).await;
    let waiting = scene.claim("waiting", &[]).await;
    let foreign = scene.claim("foreign", &["nic.example.com/nic-0"]).await;
    let named = |name: &str, uid: &str| v1::Claim {
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: uid.to_owned(),
    };
    let claims = vec![good, broken, confused, waiting, foreign, named("good", "another"), named("none", "x")];
    let answers = scene.prepare(claims.clone()).await;
    let said: Vec<&str> = claims.iter().map(|claim| &*answers[&claim.uid].error).collect();
    let good_uid = &claims[0].uid;
    let other_uid = format!(
        "claim default/good has uid {good_uid}, but the kubelet requested another; it was deleted and recreated"
    );
    let expected = [
        "",
        "the device does not answer",
        "driver gpu.example.com prepared device n1/gpu-7, which claim default/confused does not have",
        "claim default/waiting is not allocated",
        "claim default/foreign has no device of driver gpu.example.com",
        &*other_uid,
        "claim default/none not found",
    ];
    assert_eq!(said, expected);
    assert_eq!(scene.driver.asked(), ["prepare good", "prepare broken", "prepare confused"]);
    fs::remove_dir_all(&scene.dir).expect("ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_come_one_at_a_time_and_go_on_when_nobody_waits() {
    let uid = "3f0c1c34-8b7b-4c1e-9d55-0a6f0f1d2e3c";
    for (name, rolling) in [("turn", None), ("roll", Some(uid.to_owned()))] {
        let scene = Scene::set(name, |options| options.rolling_update = rolling.clone()).await;
        let socket = rolling.map_or("dra.sock".to_owned(), |uid| format!("dra-{uid}.sock"));
        let channel = connect(&scene.dir.join("plugins").join(DRIVER).join(socket)).await;
        let (a, b) = (scene.claim("a", &["gpu-0"]).await, scene.claim("b", &["gpu-1"]).await);
        let call = |claim: v1::Claim| {
            let mut client = ClaimsV1::new(channel.clone());
            async move {
                client.node_prepare_resources(v1::NodePrepareResourcesRequest { claims: vec![claim] }).await
            }
        };
        let (first, second) = tokio::join!(call(a.clone()), call(b));
        assert!(first.is_ok() && second.is_ok());
        assert_eq!(scene.driver.most_at_once.load(Ordering::SeqCst), 1);
        // The kubelet loses patience.
        timeout(Duration::from_millis(20), call(a)).await.expect_err("it takes longer");
        let before = files(&scene.dir.join("cdi"));
        until("the call ends", || async { scene.driver.at_once.load(Ordering::SeqCst) == 0 }).await;
        assert!(scene.driver.asked().len() == 3 && before == 2);
        fs::remove_dir_all(&scene.dir).expect("ours");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_driver_that_panics_is_called_again() {
    let scene = Scene::set("panic", |_| {}).await;
    let (bad, good) = (scene.claim("panic", &["gpu-0"]).await, scene.claim("good", &["gpu-1"]).await);
    let request = v1::NodePrepareResourcesRequest { claims: vec![bad] };
    let status = scene.claims().await.node_prepare_resources(request).await.expect_err("it panics");
    assert_eq!(status.message(), "the driver panicked; see its log");
    assert_eq!(scene.prepare(vec![good]).await.len(), 1);
    assert!(scene.driver.asked().contains(&Trouble::Panicked.to_string()));
    fs::remove_dir_all(&scene.dir).expect("ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_reaches_the_kubelet_and_silence_is_noticed() {
    let scene = Scene::set("health", |_| {}).await;
    let socket = scene.dir.join("plugins").join(DRIVER).join("dra.sock");
    let mut client = DraResourceHealthClient::new(connect(&socket).await);
    let answer = client.node_watch_resources(health::NodeWatchResourcesRequest {}).await;
    let mut reports = answer.expect("an answer").into_inner();
    let report = reports.message().await.expect("a report").expect("a report");
    assert_eq!(report.devices[0].message, "too hot");
    assert_eq!(report.devices[0].health(), health::HealthStatus::Unhealthy);
    let is_noticed =
        || async { scene.driver.asked().iter().any(|what| what.starts_with("no health report")) };
    until("silence is noticed", is_noticed).await;
    // A stream without an end does not keep the plugin from stopping.
    timeout(Duration::from_secs(10), scene.plugin.stop()).await.expect("it stops");
    fs::remove_dir_all(&scene.dir).expect("ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn states_of_devices_are_written_in_the_name_of_each_driver() {
    let scene = Scene::set("status", |_| {}).await;
    let claim = scene.claim("a", &["gpu-0", "nic.example.com/nic-0"]).await;
    let reference = ClaimReference { namespace: claim.namespace, name: claim.name, uid: claim.uid };
    let state = |device: &str| DeviceState {
        pool: "n1".to_owned(),
        device: device.to_owned(),
        ..DeviceState::default()
    };
    let gpus = StatusReporter::new(scene.connection.clone(), DRIVER);
    let nics = StatusReporter::new(scene.connection.clone(), "nic.example.com");
    let ready = state("gpu-0").condition("Ready", true, "Prepared", "");
    gpus.report(&reference, std::slice::from_ref(&ready)).await.expect("it is written");
    let network = serde_json::from_value(json!({ "interfaceName": "eth1", "ips": ["10.0.0.1/24"] }));
    let nic = DeviceState { network: Some(network.expect("the right form")), ..state("nic-0") };
    nics.report(&reference, &[nic]).await.expect("it is written");
    let claims = Resource::<ResourceClaim>::named("resourceclaims").within("default");
    let read = || async { scene.connection.get(&claims, "a").await.done().expect("it is there").status };
    let first = read().await;
    assert_eq!(first.devices.len(), 2);
    sleep(Duration::from_millis(1100)).await;
    let told = DeviceState { own_words: Some(json!({ "serial": 7 })), ..ready };
    gpus.report(&reference, &[told]).await.expect("it is written");
    let second = read().await;
    let of = |status: &driver_kit::api::AllocatedDeviceStatus| status.driver == DRIVER;
    let (old, new) = (first.devices.iter().find(|one| of(one)), second.devices.iter().find(|one| of(one)));
    let (old, new) = (old.expect("it is there"), new.expect("it is there"));
    assert_eq!(old.conditions, new.conditions, "the time of the last change is kept");
    assert_eq!(new.data.as_ref().map(driver_kit::api::Raw::text), Some(r#"{"serial":7}"#));
    assert_eq!(second.devices.len(), 2, "the other driver's stays");

    gpus.report(&reference, &[]).await.expect("it is taken back");
    assert_eq!(read().await.devices.len(), 1);
    let large = DeviceState { own_words: Some(json!({ "x": "y".repeat(10_240) })), ..state("gpu-0") };
    let error = gpus.report(&reference, &[large]).await.expect_err("too much").to_string();
    assert_eq!(error, "device n1/gpu-0: the driver's data has more than 10240 bytes");
    let successor = ClaimReference { uid: "another".to_owned(), ..reference };
    assert_eq!(gpus.report(&successor, &[]).await, Err(ReportError::Gone(successor.clone())));
    fs::remove_dir_all(&scene.dir).expect("ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_publishes_for_its_node() {
    let scene = Scene::set("publish", |_| {}).await;
    let pool = Pool { name: "n1".to_owned(), devices: vec![Device::named("gpu-0")], ..Pool::default() };
    scene.plugin.publish(vec![pool]).expect("a good pool");
    timeout(Duration::from_secs(10), scene.plugin.published()).await.expect("it is published");
    let refused = PluginOptions::below(&scene.dir, "GPU_1", "n1");
    let refused = Plugin::start(scene.connection.clone(), refused, scene.driver.clone());
    let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.starts_with("\"GPU_1\" is not a valid driver name: must be lower case"), "{error}");
    let nowhere = PluginOptions::below(&scene.dir, DRIVER, "");
    let nowhere = Plugin::start(scene.connection.clone(), nowhere, scene.driver.clone());
    assert!(nowhere.err().is_some_and(|error| error.to_string().starts_with("\"\" is not a valid node name")));
    fs::remove_dir_all(&scene.dir).expect("ours");
}
