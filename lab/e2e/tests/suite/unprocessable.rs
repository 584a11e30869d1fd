//! What our API server refuses with the HTTP code 422: allocations that nobody could give back.

use anyhow::{Result, ensure};
use e2e::Cluster;
use hyper::Method;
use objects::resource::claim::ResourceClaim;
use serde_json::{Value, json};

use crate::negotiation::{asking, class};

crate::on_both![; embedded: an_allocation_without_the_name_of_its_controller_is_refused];

const LENDER: &str = "lender.example.com";

const STATUS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status";

/// Writes the status of the claim, and expects this code and, if it is refused, a cause about this field.
async fn write(cluster: &Cluster, status: Value, code: u16, field: &str) -> Result<()> {
    let mut claim = serde_json::to_value(cluster.read::<ResourceClaim>("c").await?)?;
    claim["apiVersion"] = json!("resource.k8s.io/v1");
    claim["kind"] = json!("ResourceClaim");
    claim["status"] = status;
    let answer = cluster.caller().await?.call(Method::PUT, STATUS, claim.to_string()).await?;
    let body: Value = serde_json::from_slice(&answer.body)?;
    ensure!(answer.code == code, "{} and not {code}: {body}", answer.code);
    if code == 422 {
        ensure!(body["kind"] == "Status" && body["reason"] == "Invalid" && body["code"] == 422, "{body}");
        ensure!(body["details"]["causes"][0]["field"] == field, "{body}");
    }
    Ok(())
}

async fn an_allocation_without_the_name_of_its_controller_is_refused(cluster: &Cluster) -> Result<()> {
    cluster.create(&class(cluster, "lent", LENDER)?).await?;
    cluster.create(&asking("c", "lent", LENDER)?).await?;
    let results = json!([{ "request": "r", "driver": LENDER, "pool": "n-1", "device": "d" }]);
    let allocation = json!({ "devices": { "results": results } });
    let name = "status.controllerName";
    write(cluster, json!({ "allocation": allocation }), 422, name).await?;
    let by_another = json!({ "allocation": allocation, "controllerName": "other.example.com" });
    write(cluster, by_another, 422, name).await?;
    let given = json!({ "allocation": allocation, "controllerName": LENDER });
    write(cluster, given.clone(), 200, "").await?;
    // Nobody may clear it before its driver was asked.
    write(cluster, json!({}), 422, "status.allocation").await?;
    let mut asked = given;
    asked["deallocationRequested"] = json!(true);
    write(cluster, asked, 200, "").await?;
    write(cluster, json!({}), 200, "").await
}
