//! Our own server, in memory, in a runtime of its own so that nothing that a test does can hold it up.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context, Result};
use gates::{Gate, Gates};
use server::{Credentials, NoLog, Options, Server, Users};
use store::Store;
use tokio::runtime::{Builder, Runtime};

use crate::cluster::TOKEN;

/// A server that serves until it is dropped.
pub(crate) struct Embedded {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    runtime: Option<Runtime>,
}

impl Embedded {
    pub(crate) fn start(gates: Gates) -> Result<Self> {
        let credentials = Credentials::make(&[IpAddr::V4(Ipv4Addr::LOCALHOST)])?;
        let authority = credentials.authority.certificate.clone();
        let options = Options {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            credentials: Some(credentials),
            users: Users::default().with_admin_token(TOKEN),
            gates: gates.with(Gate::DRAControlPlaneController, true),
            store: Store::default(),
            log: Box::new(NoLog),
        };
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let (tell, told) = std::sync::mpsc::channel();
        runtime.spawn(async move {
            let bound = Server::bind(options).await.map_err(anyhow::Error::from);
            let server = bound.and_then(|server| Ok((server.address()?, server)));
            match server {
                Ok((address, server)) => {
                    // Whoever asked waits for this.
                    let _ = tell.send(Ok(address));
                    server.serve(std::future::pending()).await;
                }
                Err(error) => drop(tell.send(Err(error))),
            }
        });
        let address = told.recv().context("the server did not start")??;
        Ok(Self { address, authority, runtime: Some(runtime) })
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
