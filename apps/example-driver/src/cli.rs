//! What can be typed after `example-driver`, and the help that describes it.

use std::path::PathBuf;

use clap::Parser;

use crate::switches::Flags;

const EXAMPLES: &str = "\
Examples:
  example-driver --check --inventory examples/driver/inventory.yaml                 what would be published
  example-driver --node n1 --inventory inventory.yaml --kubeconfig kubeconfig       on a node with a kubelet
  example-driver --node n1 --inventory inventory.yaml --root-dir target/n1 --cdi-dir target/n1/cdi
                                                                     for `supercargo node --root-dir target/n1`
  example-driver … --prepare fail --delay-ms 2000                    a bad and slow driver
  example-driver … --control switches.yaml                           the same, changed while it runs: `prepare: hang`

  example-driver --stock examples/negotiation/stock.yaml --driver lender.example.com --kubeconfig kubeconfig
                                                                     a controller that gives devices to claims itself
  example-driver --shelf examples/negotiation/n1.yaml --node n1 --driver lender.example.com --kubeconfig kubeconfig
                                                                     its part on a node: reports what the node has
  example-driver --stock … --negotiate dead                          one that does not answer; also fail and wrong
  example-driver --stock … --delay-ms 2000                           a slow one
  example-driver --shelf … --publish fail                            a node whose report means nothing; also nothing

An inventory lists gpus, nics and fpgas:
  gpus:
  - {name: gpu, count: 2, model: A100, memory: 40Gi, mig: [1g.5gb, 3g.20gb], vgpu: true}
  nics:
  - {name: nic, count: 2, bandwidth: 100G}
  fpgas:
  - {name: fpga, family: agilex}

A stock lists what a controller has to give, and what nodes have that do not report it themselves; a shelf is one node's:
  accelerators: 2
  optional: 1
  nodes: {n2: {fpgas: 1, nics: 0, local: 2}}";

/// Simulates GPUs, NICs and FPGAs of a node, and fails on request
#[derive(Debug, Parser)]
#[command(name = "example-driver", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// The devices to simulate, in YAML
    #[arg(long, value_name = "FILE", required_unless_present_any = ["stock", "shelf"])]
    pub(crate) inventory: Option<PathBuf>,
    /// Give what this file lists to claims as a controller of its own, and look after no node
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inventory", "node", "check"])]
    pub(crate) stock: Option<PathBuf>,
    /// Report what this file says that the node has to the controller, in a ConfigMap; the file may change at any time
    #[arg(long, value_name = "FILE", conflicts_with_all = ["inventory", "stock", "check"])]
    pub(crate) shelf: Option<PathBuf>,
    /// The namespace of the nodes' reports
    #[arg(long, value_name = "NAME", default_value = "kube-system")]
    pub(crate) namespace: String,
    /// Read the inventory, say what would be published, and end
    #[arg(long)]
    pub(crate) check: bool,
    /// The node that this runs for
    #[arg(long, value_name = "NAME", default_value = "", required_unless_present_any = ["check", "stock"])]
    pub(crate) node: String,
    /// The name of the driver
    #[arg(long, value_name = "NAME", default_value = "device.example.com")]
    pub(crate) driver: String,
    /// Where the API server is and who we are; without it $KUBECONFIG, or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The directory of the kubelet
    #[arg(long, value_name = "DIR", default_value = "/var/lib/kubelet")]
    pub(crate) root_dir: PathBuf,
    /// Where container runtimes look for CDI files
    #[arg(long, value_name = "DIR", default_value = driver_kit::CDI_DIR)]
    pub(crate) cdi_dir: PathBuf,
    /// UID of the pod of this process; set it if an update runs two instances at the same time
    #[arg(long, value_name = "UID")]
    pub(crate) pod_uid: Option<String>,
    /// Ways to fail
    #[command(flatten)]
    pub(crate) flags: Flags,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::Cli;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
