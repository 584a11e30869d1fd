//! Controllers of three drivers in a process of their own: two that give something of a node, and one whose claims all may share.
//!
//! They keep nothing: whatever is asked for is there, but for one node that each of the first two will not have.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use client::Connection;
use driver_kit::Failure;
use driver_kit::api::NodeSelector;
use driver_kit::controller::{ClaimRequest, Control, ControlOptions, Controller, Grant};
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use tokio::signal::ctrl_c;

/// A driver.
#[derive(Clone, Copy, Debug)]
pub struct Giver {
    /// Its name.
    pub name: &'static str,
    /// The node that it will not have; what it gives is that of a node then, and for one user.
    pub never_on: Option<&'static str>,
}

/// All of them.
pub const GIVERS: [Giver; 3] = [
    Giver { name: "fpga.example.com", never_on: Some("n-0") },
    Giver { name: "nic.example.com", never_on: Some("n-1") },
    Giver { name: "shared.example.com", never_on: None },
];

impl Controller for Giver {
    fn name(&self) -> &str {
        self.name
    }

    async fn allocate(&self, claims: &[ClaimRequest], node: Option<&str>) -> Vec<Result<Grant, Failure>> {
        let is_local = self.never_on.is_some();
        let nodes = node.filter(|_| is_local).map(NodeSelector::only);
        let grant = || Grant { nodes: nodes.clone(), shareable: !is_local, ..Grant::default() };
        claims.iter().map(|_| Ok(grant())).collect()
    }

    async fn deallocate(&self, _: &ResourceClaim) -> Result<(), Failure> {
        Ok(())
    }

    async fn unsuitable_nodes(
        &self,
        _: &Pod,
        claims: &[ClaimRequest],
        nodes: &[String],
    ) -> Result<Vec<BTreeSet<String>>, Failure> {
        let bad = nodes.iter().filter(|node| self.never_on == Some(node.as_str())).cloned();
        Ok(vec![bad.collect(); claims.len()])
    }
}

/// Is these controllers, as a program, until it is killed.
///
/// # Errors
/// When it cannot start, or is interrupted.
pub async fn serve(kubeconfig: &Path) -> Result<()> {
    let mut running = Vec::new();
    for giver in GIVERS {
        let connection = Connection::from_kubeconfig(kubeconfig, None, &client::Options::default()).await?;
        running.push(Control::start(connection, ControlOptions::default(), giver));
    }
    ctrl_c().await?;
    bail!("it was interrupted")
}
