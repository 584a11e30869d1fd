//! A wire between a scheduler and its server that can be cut, or go dead without a word.
//!
//! Invariant: bytes are passed on as they come. Once cut, every connection is gone; new ones are taken at once. Once dead, a
//! connection stays and says nothing more, until it is cut.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Result;
use client::{Connection, Options};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::{Cluster, Place};

/// A wire. Dropped, it is gone for good.
pub struct Wire {
    place: Place,
    cuts: watch::Sender<u64>,
    deaths: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Wire {
    /// Lays a wire to a cluster's server.
    ///
    /// # Errors
    /// When no port is free.
    pub async fn lay(cluster: &Cluster) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let mut place = cluster.place().clone();
        let server: SocketAddr = place.address.parse()?;
        place.address = listener.local_addr()?.to_string();
        let (cuts, cut) = watch::channel(0);
        let (deaths, dead) = watch::channel(0);
        let task = tokio::spawn(async move {
            while let Ok((here, _)) = listener.accept().await {
                tokio::spawn(pass_on(here, server, cut.clone(), dead.clone()));
            }
        });
        Ok(Self { place, cuts, deaths, task })
    }

    /// A connection over this wire.
    ///
    /// # Errors
    /// When the server's certificate is no good.
    pub fn connect(&self) -> Result<Connection> {
        self.place.connect(&Options::default())
    }

    /// Ends all connections there are, and says how often that was done.
    pub fn cut(&self) -> u64 {
        self.cuts.send_modify(|cuts| *cuts += 1);
        *self.cuts.borrow()
    }

    /// Nothing comes through the connections that there are any more, and nobody is told.
    pub fn go_dead(&self) {
        self.deaths.send_modify(|deaths| *deaths += 1);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn pass_on(
    mut here: TcpStream,
    server: SocketAddr,
    mut cut: watch::Receiver<u64>,
    mut dead: watch::Receiver<u64>,
) {
    cut.mark_unchanged();
    dead.mark_unchanged();
    let Ok(mut there) = TcpStream::connect(server).await else { return };
    tokio::select! {
        // How a connection ends is seen by both of its ends.
        _ = tokio::io::copy_bidirectional(&mut here, &mut there) => {}
        _ = cut.changed() => {}
        _ = dead.changed() => drop(cut.changed().await),
    }
}
