//! Pods that are held back until something exists: their condition and an event say what that is.

use anyhow::{Context, Result, ensure};
use e2e::shapes::{claim, object, pod, pod_with_claims, request, template};
use e2e::{Account, Cluster, Keeper, Served, Terms, Worker};
use objects::scheduling::pod_group::PodGroup;
use serde_json::json;

use crate::devices::nodes_with_devices;
use crate::pods::{refused, scheduled};

crate::with_groups![
    a_pod_says_which_claim_does_not_exist,
    a_pod_says_from_which_template_its_claim_is_to_be_created,
    without_controllers_a_pod_says_that_nobody_creates_its_claim,
    members_say_that_they_are_too_few,
];

fn terms() -> Terms {
    Terms { gates: Served::Groups.gates(), ..Terms::default() }
}

/// Waits until a pod says why it waits, in its condition and in an event.
async fn says(cluster: &Cluster, name: &str, why: &str) -> Result<()> {
    let waits = cluster.pod_when(name, "says why it waits", refused).await?;
    let said = scheduled(&waits).context("it has the condition")?;
    ensure!((&*said.reason, &*said.message) == ("Unschedulable", why), "it says {said:?}");
    ensure!(cluster.event(name, "FailedScheduling").await?.note == why);
    // Nothing is said twice: the pod stays as it is.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let later = cluster.pod_when(name, "still says so", refused).await?;
    ensure!(later.metadata.resource_version == waits.metadata.resource_version, "{later:?}");
    Ok(())
}

async fn a_pod_says_which_claim_does_not_exist(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    cluster.create(&pod_with_claims("p", &["c"])?).await?;
    says(cluster, "p", "resourceclaim \"c\" not found; hint: create ResourceClaim default/c").await?;
    cluster.create(&claim("c", 1)?).await?;
    cluster.bound("p").await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

const NOT_CREATED: &str = "waiting for a resourceclaim to be created from resourceclaimtemplate \"t\", and no \
    controller creates it; hint: \
    check that ResourceClaimTemplate default/t exists, and that kube-controller-manager or `supercargo controllers` runs";

async fn a_pod_says_from_which_template_its_claim_is_to_be_created(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let controllers = ["resourceclaim-controller"];
    let connection = cluster.connect_as(Account::Controllers)?;
    let _keeper = Keeper::start_with(&connection, &controllers, Served::Groups.gates())?;
    let entry = json!([{ "name": "gpu", "resourceClaimTemplateName": "t" }]);
    cluster.create(&pod("p", json!({ "resourceClaims": entry }))?).await?;
    says(cluster, "p", NOT_CREATED).await?;
    cluster.create(&template("t", &json!({ "requests": [request("gpu", 1)] }))?).await?;
    cluster.bound("p").await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn without_controllers_a_pod_says_that_nobody_creates_its_claim(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    cluster.create(&template("t", &json!({ "requests": [request("gpu", 1)] }))?).await?;
    let entry = json!([{ "name": "gpu", "resourceClaimTemplateName": "t" }]);
    cluster.create(&pod("p", json!({ "resourceClaims": entry }))?).await?;
    says(cluster, "p", NOT_CREATED).await?;
    let connection = cluster.connect_as(Account::Controllers)?;
    let _keeper = Keeper::start_with(&connection, &["resourceclaim-controller"], Served::Groups.gates())?;
    cluster.bound("p").await?;
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}

async fn members_say_that_they_are_too_few(cluster: &Cluster) -> Result<()> {
    nodes_with_devices(cluster, &["n-1"], 1).await?;
    let worker = Worker::start(&cluster.connect_as(Account::Scheduler)?, &terms())?;
    let group: PodGroup = object(&json!({
        "metadata": { "name": "g", "namespace": "default" },
        "spec": { "schedulingPolicy": { "gang": { "minCount": 3 } } },
    }))?;
    cluster.create(&group).await?;
    let member = |name: &str| pod(name, json!({ "schedulingGroup": { "podGroupName": "g" } }));
    for name in ["g-0", "g-1"] {
        cluster.create(&member(name)?).await?;
    }
    let why =
        "waiting for pod group g to have at least 3 pods; hint: create the missing pods, or lower minCount";
    for name in ["g-0", "g-1"] {
        says(cluster, name, why).await?;
    }
    cluster.create(&member("g-2")?).await?;
    for name in ["g-0", "g-1", "g-2"] {
        cluster.bound(name).await?;
    }
    ensure!(worker.troubles().is_empty(), "{:?}", worker.troubles());
    Ok(())
}
