//! Pods leave devices whose taints they do not tolerate, and rules say how far that is.

use std::collections::BTreeSet;
use std::sync::Arc;

use client::Patch;
use controllers::claims::is_done;
use controllers::device_taints::{self, Cause, Eviction, Field, Report, Slices, Taints};
use controllers::evictions::Evictor;
use gates::Gate;
use model::timestamp::Timestamp;
use objects::Object;
use objects::core::pod::Pod;
use objects::meta::Condition;
use objects::resource::claim::ResourceClaim;
use objects::resource::class::DeviceTaintRule;
use objects::resource::slice::ResourceSlice;
use serde_json::json;

use crate::controller::{Controller, Done, Look, Reception, Subject, Tools, Undone, done};
use crate::evict::Evictions;
use crate::kinds::{Kind, KindId, Mark, kind, resource};
use crate::world::{Change, Name, World, name};

/// The name of the controller.
const NAME: &str = Evictor::DeviceTaint.controller();

/// Evicts pods from devices.
pub(crate) struct DeviceTaints {
    evictions: Evictions,
}

impl Default for DeviceTaints {
    fn default() -> Self {
        Self { evictions: Evictions::new(Evictor::DeviceTaint) }
    }
}

impl Controller for DeviceTaints {
    fn name(&self) -> &'static str {
        NAME
    }

    fn follows(&self) -> Vec<Kind> {
        vec![kind::<Pod>(), kind::<ResourceClaim>(), kind::<ResourceSlice>(), kind::<DeviceTaintRule>()]
    }

    fn tune(&mut self, _: KindId, reception: Reception, now: Timestamp) {
        self.evictions.tune(reception, now);
    }

    fn note(&mut self, change: &Change, _: &World, _: Timestamp) {
        if let Some(pod) = change.of::<Pod>().filter(|pod| pod.after.is_none()) {
            self.evictions.forget(pod.object());
        }
    }

    fn touched(&self, change: &Change, world: &World) -> Vec<Subject> {
        if let Some(pod) = change.of::<Pod>() {
            let same = |one: &Pod, two: &Pod| {
                let placed = |pod: &Pod| (pod.spec.node_name.clone(), is_done(pod), goes(pod));
                placed(one) == placed(two)
                    && one.status.resource_claim_statuses == two.status.resource_claim_statuses
                    && one.status.extended_resource_claim_status == two.status.extended_resource_claim_status
            };
            if pod.before.zip(pod.after).is_some_and(|(before, after)| same(before, after)) {
                return Vec::new();
            }
            let names = device_taints::claim_names(pod.object());
            let names = names.map(|name| (pod.object().metadata.namespace.clone(), name.to_owned()));
            let claims = names.filter_map(|name| world.get::<ResourceClaim>(&name));
            let rules = claims.flat_map(|claim| rules_for(claim, world));
            return rules.chain([Subject::of(pod.object())]).collect();
        }
        if let Some(claim) = change.of::<ResourceClaim>() {
            let rules = [claim.before, claim.after].into_iter().flatten();
            let rules = rules.flat_map(|claim| rules_for(claim, world));
            return rules.chain(users(claim.object(), world)).collect();
        }
        if let Some(slice) = change.of::<ResourceSlice>() {
            if !device_taints::matters(slice.before, slice.after) {
                return Vec::new();
            }
            let spec = &slice.object().spec;
            let claims =
                world.marked::<ResourceClaim>(&Mark::Pool(spec.driver.clone(), spec.pool.name.clone()));
            return claims.flat_map(|claim| users(claim, world)).collect();
        }
        let Some(rule) = change.of::<DeviceTaintRule>() else { return Vec::new() };
        let itself = Subject::of(rule.object());
        if rule.before.zip(rule.after).is_some_and(|(before, after)| before.spec == after.spec) {
            return vec![itself];
        }
        let selects = |claim: &&Arc<ResourceClaim>| {
            [rule.before, rule.after].into_iter().flatten().any(|rule| selects(rule, claim))
        };
        let claims = world.all::<ResourceClaim>().filter(selects);
        // What the rule will do is said before it is done.
        [itself].into_iter().chain(claims.flat_map(|claim| users(claim, world))).collect()
    }

    fn look(&self, subject: &Subject, world: &World, tools: &Tools) -> Look {
        if !tools.gates.enabled(Gate::DRADeviceTaints) {
            return Look::NOTHING;
        }
        match subject.kind {
            Pod::KIND => self.look_at_pod(&subject.name, world, tools),
            _ => look_at_rule(&subject.name, world, tools),
        }
    }
}

impl DeviceTaints {
    fn look_at_pod(&self, name: &Name, world: &World, tools: &Tools) -> Look {
        let Some(pod) = world.get::<Pod>(name) else { return Look::NOTHING };
        let eviction = eviction(pod, &taints(world, tools), world);
        let sentence = eviction.map(|eviction| (eviction.at, eviction.why()));
        self.evictions.look(pod, sentence, tools)
    }
}

impl Slices for World {
    fn of_pool(&self, driver: &str, pool: &str) -> Vec<&ResourceSlice> {
        let slices = self.marked::<ResourceSlice>(&Mark::Pool(driver.to_owned(), pool.to_owned()));
        slices.map(|slice| &**slice).collect()
    }
}

fn taints<'a>(world: &'a World, tools: &Tools) -> Taints<'a> {
    let has_rules = tools.gates.enabled(Gate::DRADeviceTaintRules);
    let rules = world.all::<DeviceTaintRule>().filter(|_| has_rules);
    Taints::new(world, rules.map(|rule| &**rule))
}

fn eviction(pod: &Pod, taints: &Taints<'_>, world: &World) -> Option<Eviction> {
    let claim = |claim: &str| {
        let name = (pod.metadata.namespace.clone(), claim.to_owned());
        world.get::<ResourceClaim>(&name).map(|claim| &**claim)
    };
    device_taints::of_pod(pod, claim, taints)
}

fn goes(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_some()
}

/// The pods that use a claim.
fn users<'a>(claim: &ResourceClaim, world: &'a World) -> impl Iterator<Item = Subject> + use<'a> {
    world.marked::<Pod>(&Mark::Claim(name(claim))).map(|pod| Subject::of(&**pod))
}

/// The rules that evict from devices of a claim.
fn rules_for(claim: &ResourceClaim, world: &World) -> Vec<Subject> {
    let rules = world.all::<DeviceTaintRule>().filter(|rule| rule.spec.taint.effect == "NoExecute");
    rules.filter(|rule| selects(rule, claim)).map(|rule| Subject::of(&**rule)).collect()
}

fn selects(rule: &DeviceTaintRule, claim: &ResourceClaim) -> bool {
    let mut results = claim.status.allocation.iter().flat_map(|allocation| &allocation.devices.results);
    results.any(|result| device_taints::selects(rule, &result.driver, &result.pool, &result.device))
}

fn look_at_rule(name: &Name, world: &World, tools: &Tools) -> Look {
    let Some(rule) = world.get::<DeviceTaintRule>(name) else { return Look::NOTHING };
    if !tools.gates.enabled(Gate::DRADeviceTaintRules) {
        return Look::NOTHING;
    }
    let counted = || {
        let slices = world.all::<ResourceSlice>().map(|slice| &slice.spec);
        let field = Field {
            pools: slices.map(|spec| (spec.driver.as_str(), spec.pool.name.as_str())).collect(),
            claims: world.all::<ResourceClaim>().map(|claim| &**claim).collect(),
            pods: world.all::<Pod>().map(|pod| &**pod).collect(),
        };
        let evicts = |pod: &Pod, taints: &Taints<'_>| -> BTreeSet<Cause> {
            eviction(pod, taints, world).map(|eviction| eviction.causes).unwrap_or_default()
        };
        device_taints::tally(rule, &taints(world, tools), &field, evicts)
    };
    match device_taints::report(rule, counted, tools.clock.now()) {
        Report::Leave => Look::NOTHING,
        Report::Wait(until) => Look::at(until),
        Report::Say(condition) => Look::work(say(tools.clone(), rule.clone(), *condition)),
    }
}

async fn say(tools: Tools, rule: Arc<DeviceTaintRule>, condition: Condition) -> Result<Done, Undone> {
    // The uid keeps the words from a rule that took the name of this one.
    let body = json!({
        "apiVersion": DeviceTaintRule::API_VERSION, "kind": DeviceTaintRule::KIND,
        "metadata": { "name": rule.metadata.name, "uid": rule.metadata.uid },
        "status": { "conditions": [condition] },
    });
    let how = Patch::Apply { manager: NAME.to_owned(), force: true };
    let rules = resource::<DeviceTaintRule>("");
    let mut said = Done::default();
    said.learn(done(tools.connection.patch_status(&rules, &rule.metadata.name, &how, &body).await)?);
    Ok(said)
}
