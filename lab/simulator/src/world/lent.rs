//! Lives of claims whose devices drivers' own controllers give: by negotiation, at once, for one pod, for several, for a gang.
//!
//! In each of them something is in the way first: a node that has nothing, or a rack that has too little. So that devices are
//! refused, and for the gang taken back, before everybody has what it wants.

use std::collections::BTreeMap;

use gates::{Gate, Gates};
use serde_json::{Value, json};

use super::api::{Api, named};
use super::bargain::{CARDS, Market, Trader, node_name};
use super::gangs;
use super::life::{Kind, must};
use super::setup::WorldSetup;
use super::workload;

/// The features that lives of a kind need.
pub(super) fn gates(kind: Kind) -> Gates {
    let gates = if kind == Kind::LentGang { gangs::gates() } else { Gates::default() };
    gates.with(Gate::DRAControlPlaneController, kind.is_lent())
}

/// The drivers of a life: one whose devices are those of nodes, and one whose devices every node reaches.
pub(super) fn market(kind: Kind) -> Market {
    let rooms: &[usize] = if kind == Kind::LentGang { &[1, 0, 1, 1] } else { &[0, 1] };
    let local: BTreeMap<String, usize> =
        rooms.iter().enumerate().map(|(at, room)| (node_name(at), *room)).collect();
    let remote = BTreeMap::from([(String::new(), 1)]);
    Market::of(vec![Trader::honest(0, local), Trader::honest(1, remote)])
}

/// Nodes, what drivers have, and pods with their claims.
pub(super) fn furnish(api: &mut Api, setup: &WorldSetup, kind: Kind, market: &Market) {
    market.furnish(api, setup);
    market.traders[0].places().for_each(|node| workload::add_machine(api, setup, node, CARDS));
    if kind == Kind::LentGang {
        gangs::groups().iter().for_each(|group| drop(must(api.create(group))));
    }
    for trader in &market.traders {
        let mut template = named("resource.k8s.io/v1", "ResourceClaimTemplate", &trader.name);
        template["spec"]["spec"] = asked(&trader.name);
        must(api.create(&template));
    }
    let [local, remote] = [&market.traders[0].name, &market.traders[1].name];
    let made = |name: &str, template: &str| json!({ "name": name, "resourceClaimTemplateName": template });
    let (names, claims): (&[&str], Value) = match kind {
        Kind::LentMany => (&["only"], json!([made("near", local), made("far", remote), made("card", "one")])),
        Kind::LentShared => (&["first", "second"], shared()),
        Kind::LentAtOnce => (&["only"], shared()),
        Kind::LentGang => (&["first", "second"], json!([made("near", local)])),
        Kind::Lent | Kind::Template | Kind::Shared | Kind::Extended | Kind::Readied => {
            (&["only"], json!([made("near", local)]))
        }
    };
    if matches!(kind, Kind::LentShared | Kind::LentAtOnce) {
        let mut claim = named("resource.k8s.io/v1", "ResourceClaim", "shared");
        claim["spec"] = asked(local);
        if kind == Kind::LentAtOnce {
            claim["spec"]["allocationMode"] = json!("Immediate");
        }
        must(api.create(&claim));
    }
    for name in names {
        let mut pod = named("v1", "Pod", name);
        pod["spec"] = json!({
            "schedulerName": workload::SCHEDULERS[0], "restartPolicy": "Never",
            "containers": [{ "name": "c", "image": "i" }], "resourceClaims": claims,
        });
        if kind == Kind::LentGang {
            pod["spec"]["schedulingGroup"] = json!({ "podGroupName": "pair" });
            pod["spec"]["priorityClassName"] = json!("low");
        }
        must(api.create(&pod));
    }
}

fn shared() -> Value {
    json!([{ "name": "near", "resourceClaimName": "shared" }])
}

/// What a claim asks of a class.
fn asked(class: &str) -> Value {
    json!({ "devices": { "requests": [{ "name": "r", "exactly": { "deviceClassName": class } }] } })
}
