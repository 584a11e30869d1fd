//! Our own server, in memory, in a runtime of its own so that nothing that a test does can hold it up. One whose changes are
//! kept can be followed by another that has all that it had.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, Result};
use gates::{Gate, Gates};
use parking_lot::Mutex;
use server::{Appended, Credentials, Log, NoLog, Options, Server, Settled, Users};
use store::{Record, Store};
use tokio::runtime::{Builder, Runtime};

use crate::cluster::TOKEN;

/// A server that serves until it is dropped.
pub(crate) struct Embedded {
    pub(crate) address: SocketAddr,
    pub(crate) authority: String,
    runtime: Option<Runtime>,
}

impl Embedded {
    pub(crate) fn start(gates: Gates, kept: Option<&Kept>) -> Result<Self> {
        let store = kept.map_or_else(|| Ok(Store::default()), Kept::store)?;
        let log = kept.map_or_else(|| Box::new(NoLog) as Box<dyn Log>, |kept| Box::new(kept.clone()));
        Self::start_with(gates, store, log)
    }

    /// With what is there, and what keeps it.
    pub(crate) fn start_with(gates: Gates, store: Store, log: Box<dyn Log>) -> Result<Self> {
        let credentials = Credentials::make(&[IpAddr::V4(Ipv4Addr::LOCALHOST)])?;
        let authority = credentials.authority.certificate.clone();
        let options = Options {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            credentials: Some(credentials),
            users: Users::default().with_admin_token(TOKEN),
            gates: gates.with(Gate::DRAControlPlaneController, true),
            store,
            log,
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

/// Every change that was made, in order.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Vec<Vec<u8>>>>);

impl Kept {
    /// What has become of the changes.
    fn store(&self) -> Result<Store> {
        let mut store = Store::default();
        let mut last = 0;
        for record in self.0.lock().iter() {
            let record = Record::decode(record).map_err(|error| anyhow::anyhow!("{error:?}"))?;
            last = record.revision();
            store.restore(&record);
        }
        store.restored(last);
        Ok(store)
    }
}

impl Log for Kept {
    fn append(&self, _: u64, record: Vec<u8>, _: Settled) -> Result<Appended, String> {
        self.0.lock().push(record);
        Ok(Appended::Durable)
    }
}

impl Drop for Embedded {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
