//! Claims of pods that were bound by hand: reserved, and their node told to drivers' controllers.
//!
//! Invariant: every write names the version that it was made from, so that a scheduler that does the same at the same time
//! is not overwritten. Drivers' controllers are told no node for a claim that has devices: the watch of pods may tell that a scheduler
//! has bound a pod before the watch of claims tells what it got, so the claims are read first.

use std::sync::Arc;

use client::Answer;
use controllers::claim_reservations::{Around, Negotiation, Reservations, negotiation, reservations};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceClass;
use objects::scheduling::pod_group::PodGroup;
use objects::supercargo::control;
use objects::supercargo::pod_scheduling_context::PodSchedulingContext;

use crate::controller::{Done, Look, Tools, Undone, done};
use crate::kinds::resource;
use crate::world::{World, name};

/// Whether there may be something to do for a pod.
pub(super) fn may_concern(pod: &Pod) -> bool {
    !pod.spec.node_name.is_empty() && !pod.spec.resource_claims.is_empty()
}

pub(super) fn look(pod: &Arc<Pod>, world: &World, tools: &Tools) -> Look {
    if !may_concern(pod) {
        return Look::NOTHING;
    }
    let here = |name: &str| (pod.metadata.namespace.clone(), name.to_owned());
    let class = |name: &str| world.get::<DeviceClass>(&(String::new(), name.to_owned()));
    let needs = reservations(
        pod,
        &Around {
            claim: &|name| world.get::<ResourceClaim>(&here(name)).map(Arc::as_ref),
            group: &|name| world.get::<PodGroup>(&here(name)).map(Arc::as_ref),
            is_controlled: &|name| class(name).is_some_and(|class| control::is_controlled(class)),
            gates: tools.gates,
        },
    );
    let context = if !needs.lacking.is_empty() && world.serves::<PodSchedulingContext>() {
        negotiation(pod, world.get::<PodSchedulingContext>(&name(&**pod)).map(Arc::as_ref))
    } else {
        Negotiation::Leave
    };
    // One that belongs to another pod of this name wakes us when it goes.
    let waits = matches!(context, Negotiation::Leave | Negotiation::Wait);
    if needs.reserve.is_empty() && needs.full.is_empty() && waits {
        return Look::NOTHING;
    }
    Look::work(reserve(tools.clone(), pod.clone(), needs, context))
}

async fn reserve(
    tools: Tools,
    pod: Arc<Pod>,
    needs: Reservations,
    context: Negotiation,
) -> Result<Done, Undone> {
    let mut reserved = Done::default();
    let namespace = &pod.metadata.namespace;
    for name in &needs.full {
        let note = format!("claim {name} has the maximum number of consumers; hint: create another claim");
        tools.warn(&*pod, super::NAME, "FailedResourceClaimReservation", note);
    }
    let claims = resource::<ResourceClaim>(namespace);
    for claim in &needs.reserve {
        match done(tools.connection.update_status(&claims, claim).await) {
            Ok(claim) => reserved.learn(claim),
            Err(undone) => reserved.trouble = Some(undone),
        }
    }
    if matches!(context, Negotiation::Leave | Negotiation::Wait) {
        return Ok(reserved);
    }
    let mut is_lacking = false;
    for name in &needs.lacking {
        let claim = match tools.connection.get(&claims, name).await {
            // The watch tells that it is gone.
            Answer::NotFound(_) => continue,
            answer => done(answer)?,
        };
        is_lacking |= claim.status.allocation.is_none();
        reserved.learn(claim);
    }
    if !is_lacking {
        return Ok(reserved);
    }
    let contexts = resource::<PodSchedulingContext>(namespace);
    let answer = match &context {
        Negotiation::Make(context) => tools.connection.create(&contexts, context).await,
        Negotiation::Correct(context) => tools.connection.update(&contexts, context).await,
        Negotiation::Leave | Negotiation::Wait => return Ok(reserved),
    };
    reserved.learn(done(answer)?);
    Ok(reserved)
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::time::Duration;

    use client::{Clock, Connection, Recorder, Resource};
    use gates::{Gate, Gates};
    use serde_json::{Value, json};
    use server::{NoLog, Options, Server, Users};
    use store::Store;

    use super::*;
    use crate::Limits;
    use crate::kinds::Followed;

    /// A server, and what its watches have told of it so far.
    struct Site {
        tools: Tools,
        world: World,
    }

    impl Site {
        async fn open() -> Site {
            let gates = Gates::default().with(Gate::DRAControlPlaneController, true);
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
            tokio::spawn(server.serve(pending()));
            let connection = Connection::from_parts(&url, Some("t"), None, &client::Options::default());
            let (connection, clock) = (connection.expect("an address"), Clock::start());
            let recorder = Arc::new(Recorder::start(connection.clone(), clock));
            let (limits, patience) = (Limits::default(), Duration::ZERO);
            let listener = Arc::new(());
            let tools = Tools { connection, clock, gates, limits, patience, listener, recorder };
            let mut world = World::default();
            world.serve::<PodSchedulingContext>();
            Site { tools, world }
        }

        /// Makes an object, of which a watch tells at once.
        async fn make<K: Followed + Clone>(
            &mut self,
            plural: &'static str,
            namespace: &str,
            object: Value,
        ) -> K {
            let mut whole = object;
            (whole["apiVersion"], whole["kind"]) = (json!(K::API_VERSION), json!(K::KIND));
            let object = K::read_value(&whole).expect("a good object");
            let all = Resource::<K>::named(plural).within(namespace);
            let made = self.tools.connection.create(&all, &object).await.done().expect("a good object");
            self.world.heard(made.clone());
            made
        }

        /// Does what there is to do for a pod, and says whether drivers' controllers are told its node.
        async fn tells_node(&mut self, pod: &Pod) -> bool {
            let work = look(&Arc::new(pod.clone()), &self.world, &self.tools).work.expect("it lacks devices");
            let done = work.await.unwrap_or_else(|undone| panic!("{undone:?}"));
            for fact in done.learnt {
                fact(&mut self.world);
            }
            let contexts = resource::<PodSchedulingContext>("default");
            self.tools.connection.get(&contexts, &pod.metadata.name).await.done().is_some()
        }
    }

    #[tokio::test]
    async fn no_node_is_told_for_a_claim_that_has_devices_of_which_no_watch_has_told_yet() {
        let mut site = Site::open().await;
        let class = json!({ "metadata": { "name": "gpu" }, "spec": { "controllerName": "gpu.example.com" } });
        site.make::<DeviceClass>("deviceclasses", "", class).await;
        let request = json!({ "name": "r", "exactly": { "deviceClassName": "gpu" } });
        let spec = json!({ "devices": { "requests": [request] } });
        let claim = json!({ "metadata": { "name": "c" }, "spec": spec });
        let mut claim: ResourceClaim = site.make("resourceclaims", "default", claim).await;
        let pod = json!({
            "metadata": { "name": "p" },
            "spec": {
                "nodeName": "n", "containers": [{ "name": "c", "image": "i" }],
                "resourceClaims": [{ "name": "r", "resourceClaimName": "c" }],
            },
        });
        let pod: Pod = site.make("pods", "default", pod).await;
        let result = json!({ "request": "r", "driver": "gpu.example.com", "pool": "p", "device": "d" });
        let user = json!({ "resource": "pods", "name": "p", "uid": pod.metadata.uid });
        let status = json!({
            "allocation": { "devices": { "results": [result] } }, "controllerName": "gpu.example.com",
            "reservedFor": [user],
        });
        let (connection, claims) = (site.tools.connection.clone(), resource::<ResourceClaim>("default"));
        claim.metadata.finalizers.push("resource.kubernetes.io/delete-protection".to_owned());
        let mut claim = connection.update(&claims, &claim).await.done().expect("it may be protected");
        claim.status = serde_json::from_value(status).expect("a status");
        let answer = connection.update_status(&claims, &claim).await;
        assert!(answer.trouble().is_none(), "{:?}", answer.trouble());
        assert!(!site.tells_node(&pod).await, "the claim has devices");
        assert!(
            look(&Arc::new(pod.clone()), &site.world, &site.tools).work.is_none(),
            "and that is known now"
        );
    }
}
