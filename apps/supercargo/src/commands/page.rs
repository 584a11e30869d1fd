//! `supercargo page`: a web page of any cluster, or of a saved state.

use std::io::Write;
use std::net::SocketAddr;

use clap::Args;

use crate::cli::address;
use crate::commands::apiserver::stopped;
use crate::failure::Failure;
use crate::page::{self, bind_still};
use crate::state::{Named, Source};

const EXAMPLES: &str = "\
Examples:
  supercargo page                          a page of the cluster in ~/.kube/config
  supercargo page --listen 127.0.0.1:0     the same on a free port
  supercargo page -n team-a                only claims and pods in team-a are named; other devices are \"in use\"
  supercargo page --state examples/devices/cluster.yaml   of a saved state
  supercargo page --state recording --at 2026-01-02T03:04:05Z   of a moment in a recording

The page shows what the identity in the kubeconfig may read, and changes nothing. The printed link signs in one browser and works once.";

/// Serve a web page with the devices, waiting pods and decisions of a cluster
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WebPage {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    named: Named,
    /// Address to listen on, on this machine; port 0 chooses a free port [default: 127.0.0.1:6480, or a free port if 6480 is in use]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
}

impl WebPage {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        let cluster = self.source.cluster(&self.named)?;
        let observer = match &cluster {
            Some(_) => None,
            None => {
                let state = self.source.read(self.named.namespace(), complaints)?;
                Some(state.into_observer(self.named.namespaces()))
            }
        };
        let listen = self.listen.unwrap_or_else(page::free_address);
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        runtime.block_on(async {
            let page = match (cluster, observer) {
                (Some(cluster), _) => cluster.bind(listen).await?,
                (None, Some(observer)) => bind_still(observer, "saved state".to_owned(), listen).await?,
                (None, None) => return Ok(()),
            };
            writeln!(out, "page        {}", page.link())?;
            out.flush()?;
            page.serve(stopped()).await;
            Ok(())
        })
    }
}
