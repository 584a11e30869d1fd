//! Controllers of a driver on an API server: several of which one works, and drivers whose calls panic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use client::{Candidacy, Connection, Patch, Resource, Terms};
use driver_kit::Failure;
use driver_kit::api::ResourceHandle;
use driver_kit::controller::{
    ClaimRequest, Control, ControlOptions, ControlTrouble, Controller, Grant, handles,
};
use gates::{Gate, Gates};
use objects::coordination::Lease;
use objects::core::pod::Pod;
use objects::events::Event;
use objects::meta::DeleteOptions;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::stage::{create, served, until};

const DRIVER: &str = "lender.example.com";

/// A claim that its driver cannot cope with.
const BAD: &str = "bad";

/// What the driver is asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    ClassParameters,
    ClaimParameters,
    UnsuitableNodes,
    Allocate,
    Deallocate,
}

/// How a call goes that is about the bad claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Well,
    /// It panics so often, and goes well after that.
    Panics(Call, usize),
    /// It answers for no claim so often, and goes well after that.
    SaysNothing(Call, usize),
}

/// A driver that gives whatever is wanted.
#[derive(Clone)]
struct Lender {
    /// Which process it is.
    own: &'static str,
    way: Way,
    trouble_panics: bool,
    failed: Arc<AtomicUsize>,
    /// When it was called about the bad claim, and how.
    called: Arc<Mutex<Vec<(Call, Instant)>>>,
    troubles: Arc<Mutex<Vec<ControlTrouble>>>,
    calls: Arc<AtomicUsize>,
}

impl Lender {
    fn new(own: &'static str, way: Way) -> Self {
        Self {
            own,
            way,
            trouble_panics: false,
            failed: Arc::default(),
            called: Arc::default(),
            troubles: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Whether an answer is to be given.
    fn is_asked(&self, call: Call, mut claims: impl Iterator<Item = String>) -> bool {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if !claims.any(|name| name == BAD) {
            return true;
        }
        self.called.lock().expect("nobody panicked").push((call, Instant::now()));
        let (at, times) = match self.way {
            Way::Well => return true,
            Way::Panics(at, times) | Way::SaysNothing(at, times) => (at, times),
        };
        if at != call || self.failed.fetch_add(1, Ordering::SeqCst) >= times {
            return true;
        }
        assert!(matches!(self.way, Way::SaysNothing(..)), "on purpose");
        false
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    fn said(&self) -> Vec<String> {
        self.troubles.lock().expect("nobody panicked").iter().map(ToString::to_string).collect()
    }
}

fn names(claims: &[ClaimRequest]) -> impl Iterator<Item = String> + '_ {
    claims.iter().map(|one| one.claim.metadata.name.clone())
}

impl Controller for Lender {
    fn name(&self) -> &str {
        DRIVER
    }

    fn class_parameters(&self, class: &DeviceClass) -> Result<Vec<Value>, Failure> {
        // The bad claim has a class of its own.
        self.is_asked(Call::ClassParameters, [class.metadata.name.clone()].into_iter());
        Ok(Vec::new())
    }

    fn claim_parameters(&self, claim: &ResourceClaim) -> Result<Vec<Value>, Failure> {
        self.is_asked(Call::ClaimParameters, [claim.metadata.name.clone()].into_iter());
        Ok(Vec::new())
    }

    async fn allocate(&self, claims: &[ClaimRequest], _: Option<&str>) -> Vec<Result<Grant, Failure>> {
        if !self.is_asked(Call::Allocate, names(claims)) {
            return Vec::new();
        }
        let handle = ResourceHandle {
            driver_name: DRIVER.to_owned(),
            data: self.own.to_owned(),
            ..ResourceHandle::default()
        };
        claims.iter().map(|_| Ok(Grant { handles: vec![handle.clone()], ..Grant::default() })).collect()
    }

    async fn deallocate(&self, claim: &ResourceClaim) -> Result<(), Failure> {
        self.is_asked(Call::Deallocate, [claim.metadata.name.clone()].into_iter());
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        _: &Pod,
        claims: &[ClaimRequest],
        _: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        let is_asked = self.is_asked(Call::UnsuitableNodes, names(claims));
        Ok(if is_asked { vec![BTreeSet::new(); claims.len()] } else { Vec::new() })
    }

    fn trouble(&self, trouble: &ControlTrouble) {
        self.troubles.lock().expect("nobody panicked").push(trouble.clone());
        assert!(!self.trouble_panics, "on purpose");
    }
}

/// A server with a class for good claims and one for the bad one.
async fn scene() -> Connection {
    let connection = served(Gates::default().with(Gate::DRAControlPlaneController, true)).await;
    for class in ["good", BAD] {
        let class = json!({
            "apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": { "name": class },
            "spec": { "controllerName": DRIVER },
        });
        create::<DeviceClass>(&connection, "deviceclasses", class).await.expect("a good class");
    }
    connection
}

fn claims() -> Resource<ResourceClaim> {
    Resource::named("resourceclaims").within("default")
}

/// Makes a claim that is to have something at once, or for a pod.
async fn ask(connection: &Connection, name: &str, mode: Option<&str>) {
    let class = if name == BAD { BAD } else { "good" };
    let claim = json!({
        "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "allocationMode": mode,
            "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": class } }] },
        },
    });
    let claim: ResourceClaim = serde_json::from_value(claim).expect("a claim");
    connection.create(&claims(), &claim).await.done().expect("a good claim");
}

async fn read(connection: &Connection, name: &str) -> Option<ResourceClaim> {
    connection.get(&claims(), name).await.done()
}

/// Who gave a claim something.
async fn giver(connection: &Connection, name: &str) -> Option<String> {
    let claim = read(connection, name).await.filter(|claim| claim.status.allocation.is_some())?;
    Some(handles(&claim).expect("handles").first()?.data.clone())
}

async fn given(connection: &Connection, name: &str) -> String {
    until(&format!("claim {name} has something"), || async { giver(connection, name).await.is_some() }).await;
    giver(connection, name).await.expect("it has")
}

fn election(connection: &Connection, identity: &str) -> (Connection, Candidacy) {
    let terms = Terms {
        lease_duration: Duration::from_secs(3),
        renew_deadline: Duration::from_secs(2),
        retry_period: Duration::from_millis(200),
    };
    let (namespace, name) = ("kube-system".to_owned(), DRIVER.to_owned());
    (connection.clone(), Candidacy { namespace, name, identity: identity.to_owned(), terms })
}

fn candidate(connection: &Connection, lender: &Lender) -> Control {
    let election = election(connection, lender.own);
    Control::start_elected(connection.clone(), election, ControlOptions::default(), lender.clone())
        .expect("good terms")
}

async fn leader(connection: &Connection) -> Option<String> {
    let lease: Option<Lease> =
        connection.get(&Resource::named("leases").within("kube-system"), DRIVER).await.done();
    lease?.spec.holder_identity
}

#[tokio::test]
async fn of_two_processes_one_gives_and_the_other_takes_over_when_it_is_killed() {
    let connection = scene().await;
    let (one, two) = (Lender::new("one", Way::Well), Lender::new("two", Way::Well));
    let first = candidate(&connection, &one);
    until("the first leads", || async { leader(&connection).await.as_deref() == Some("one") }).await;
    let second = candidate(&connection, &two);
    ask(&connection, "a", Some("Immediate")).await;
    assert_eq!(given(&connection, "a").await, "one");
    assert_eq!(two.calls(), 0, "who does not lead is asked nothing");
    // Killed, it has no time to give up its lease.
    drop(first);
    let killed = Instant::now();
    ask(&connection, "b", Some("Immediate")).await;
    assert_eq!(given(&connection, "b").await, "two");
    assert!(killed.elapsed() > Duration::from_secs(1), "the lease had to run out");
    // What the first began is the second's to end.
    connection.delete(&claims(), "a", &DeleteOptions::default()).await.done().expect("it was there");
    until("what the first gave is taken back", || async { read(&connection, "a").await.is_none() }).await;
    let calls = one.calls();
    second.stop().await;
    assert_eq!(one.calls(), calls, "who is dead is asked nothing");
    assert_eq!(leader(&connection).await.as_deref(), Some(""), "who stops gives up its lease");
}

#[tokio::test]
async fn who_lost_the_lease_gives_nothing_any_more_and_says_so() {
    let connection = scene().await;
    let one = Lender::new("one", Way::Well);
    let mut control = candidate(&connection, &one);
    ask(&connection, "a", Some("Immediate")).await;
    assert_eq!(given(&connection, "a").await, "one");
    let leases = Resource::<Lease>::named("leases").within("kube-system");
    let body = json!({ "spec": { "holderIdentity": "another" } });
    connection.patch(&leases, DRIVER, &Patch::Merge, &body).await.done().expect("a lease");
    timeout(Duration::from_secs(10), control.lost()).await.expect("it notices");
    let calls = one.calls();
    ask(&connection, "b", Some("Immediate")).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!((one.calls(), giver(&connection, "b").await), (calls, None));
}

#[tokio::test]
async fn a_controller_that_stops_while_another_leads_leaves_the_lease_alone() {
    let connection = scene().await;
    let (one, two) = (Lender::new("one", Way::Well), Lender::new("two", Way::Well));
    let first = candidate(&connection, &one);
    until("the first leads", || async { leader(&connection).await.as_deref() == Some("one") }).await;
    candidate(&connection, &two).stop().await;
    assert_eq!(leader(&connection).await.as_deref(), Some("one"));
    first.stop().await;
    let third = candidate(&connection, &two);
    ask(&connection, "a", Some("Immediate")).await;
    assert_eq!(given(&connection, "a").await, "two");
    third.stop().await;
}

/// Gives something to a bad claim among good ones, whatever the driver does about the bad one; tells the driver.
#[track_caller]
fn check(way: Way, trouble_panics: bool, says: &str) -> impl Future<Output = ()> {
    let says = says.to_owned();
    async move {
        let connection = scene().await;
        let lender = Lender { trouble_panics, ..Lender::new("one", way) };
        let control = Control::start(connection.clone(), ControlOptions::default(), lender.clone());
        ask(&connection, BAD, Some("Immediate")).await;
        for name in ["x", "y", "z"] {
            ask(&connection, name, Some("Immediate")).await;
            given(&connection, name).await;
        }
        given(&connection, BAD).await;
        let options = DeleteOptions::default();
        for name in [BAD, "x"] {
            connection.delete(&claims(), name, &options).await.done().expect("it was there");
        }
        for name in ["x", BAD] {
            until("it is taken back", || async { read(&connection, name).await.is_none() }).await;
        }
        given(&connection, "y").await;
        let said = lender.said();
        assert_eq!(said.len(), 3, "{way:?}: {said:?}");
        let wanted = format!("ResourceClaim default/{BAD}: {says}");
        assert!(said.iter().all(|one| *one == wanted), "{way:?}: {said:?}");
        rests_longer_each_time(&lender);
        control.stop().await;
        let events = Resource::<Event>::named("events").within("default");
        let event = events_of(&connection, &events).await;
        assert!(event.iter().any(|one| one.note == says && one.regarding.name == BAD), "{event:?}");
    }
}

/// A call that fails is made again after a pause, and after a longer one each time.
fn rests_longer_each_time(lender: &Lender) {
    let (Way::Panics(at, times) | Way::SaysNothing(at, times)) = lender.way else { return };
    let called = lender.called.lock().expect("nobody panicked");
    let times: Vec<Instant> =
        called.iter().filter(|(call, _)| *call == at).map(|(_, time)| *time).take(times + 1).collect();
    let rests: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    for (rest, least) in rests.iter().zip([50, 100, 200]) {
        assert!(*rest >= Duration::from_millis(least), "{at:?} is made again after {rests:?}");
    }
}

async fn events_of(connection: &Connection, events: &Resource<Event>) -> Vec<Event> {
    use futures_util::StreamExt as _;
    let stream =
        connection.list_and_watch(events, &client::Selectors::default(), &client::WatchOptions::default());
    let mut stream = Box::pin(stream);
    let mut found: BTreeMap<String, Event> = BTreeMap::new();
    while let Some(event) = stream.next().await {
        match event {
            client::Event::Applied(event) => drop(found.insert(event.metadata.name.clone(), event)),
            client::Event::Synced { .. } => break,
            _ => {}
        }
    }
    found.into_values().collect()
}

const PANICKED: &str = "the driver panicked: on purpose";

#[tokio::test]
async fn a_call_that_panics_for_one_claim_is_told_and_made_again_while_others_get_theirs() {
    for call in [Call::Allocate, Call::Deallocate, Call::ClaimParameters, Call::ClassParameters] {
        check(Way::Panics(call, 3), false, PANICKED).await;
    }
}

#[tokio::test]
async fn a_driver_that_panics_when_it_is_told_of_trouble_goes_on() {
    check(Way::Panics(Call::Allocate, 3), true, PANICKED).await;
}

#[tokio::test]
async fn a_driver_that_answers_for_too_few_claims_is_asked_again() {
    let says = "the driver answered for 0 of 1 claims, to allocate them";
    check(Way::SaysNothing(Call::Allocate, 3), false, says).await;
}

#[tokio::test]
async fn a_pod_gets_an_answer_about_nodes_although_the_driver_failed_to_give_one() {
    for (way, says) in [
        (Way::Panics(Call::UnsuitableNodes, 3), PANICKED),
        (Way::SaysNothing(Call::UnsuitableNodes, 3), "the driver answered for 0 of 1 claims, to judge nodes"),
    ] {
        let connection = scene().await;
        let lender = Lender::new("one", way);
        let control = Control::start(connection.clone(), ControlOptions::default(), lender.clone());
        for claim in [BAD, "x"] {
            ask(&connection, claim, None).await;
            negotiate(&connection, claim).await;
        }
        // The other one is not held up, and the bad one has its turn.
        for claim in ["x", BAD] {
            until("it is said which nodes will not do", || async { is_answered(&connection, claim).await })
                .await;
        }
        let said = lender.said();
        assert!(
            said.len() == 3 && said.iter().all(|one| *one == format!("Pod default/{BAD}: {says}")),
            "{said:?}"
        );
        rests_longer_each_time(&lender);
        control.stop().await;
    }
}

/// A pod with a claim, both of this name, and what a scheduler writes about it.
async fn negotiate(connection: &Connection, name: &str) {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name, "namespace": "default" },
        "spec": {
            "containers": [{ "name": "c", "image": "i" }],
            "resourceClaims": [{ "name": "c", "resourceClaimName": name }],
        },
    });
    let pod: Pod = serde_json::from_value(pod).expect("a pod");
    let pods = Resource::<Pod>::named("pods").within("default");
    let pod = connection.create(&pods, &pod).await.done().expect("a good pod");
    let owner = json!({
        "apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod.metadata.uid, "controller": true,
    });
    let context = json!({
        "metadata": { "name": name, "namespace": "default", "ownerReferences": [owner] },
        "spec": { "potentialNodes": ["n1"] },
    });
    let context: PodSchedulingContext = serde_json::from_value(context).expect("a context");
    connection.create(&contexts(), &context).await.done().expect("a good context");
}

fn contexts() -> Resource<PodSchedulingContext> {
    Resource::named("podschedulingcontexts").within("default")
}

async fn is_answered(connection: &Connection, name: &str) -> bool {
    let context: Option<PodSchedulingContext> = connection.get(&contexts(), name).await.done();
    context.is_some_and(|context| context.status.resource_claims.iter().any(|one| one.name == "c"))
}

/// How often the driver was asked about nodes for the bad claim.
fn judged(lender: &Lender) -> usize {
    let called = lender.called.lock().expect("nobody panicked");
    called.iter().filter(|(call, _)| *call == Call::UnsuitableNodes).count()
}

#[tokio::test]
async fn nodes_are_judged_again_when_the_scheduler_asks_anew_and_not_when_another_driver_answers() {
    let connection = scene().await;
    let lender = Lender::new("one", Way::Well);
    let control = Control::start(connection.clone(), ControlOptions::default(), lender.clone());
    ask(&connection, BAD, None).await;
    negotiate(&connection, BAD).await;
    until("it is answered", || async { is_answered(&connection, BAD).await }).await;
    assert_eq!(judged(&lender), 1);
    for nodes in [json!(["n1"]), json!([]), json!(["n1", "n2"])] {
        let body = json!({ "status": { "resourceClaims": [{ "name": "c" }, { "name": "other", "unsuitableNodes": nodes }] } });
        connection.patch_status(&contexts(), BAD, &Patch::Merge, &body).await.done().expect("it is there");
    }
    // Its answer shows that all before it was heard.
    ask(&connection, "x", None).await;
    negotiate(&connection, "x").await;
    until("it is answered", || async { is_answered(&connection, "x").await }).await;
    assert_eq!(judged(&lender), 1, "another driver's answers ask nothing");
    let body = json!({ "spec": { "potentialNodes": ["n1", "n2"] } });
    connection.patch(&contexts(), BAD, &Patch::Merge, &body).await.done().expect("it is there");
    until("nodes are judged again", || async { judged(&lender) == 2 }).await;
    control.stop().await;
}
