//! The server that is killed: the same one as `supercargo apiserver --data-dir`, in a process of its own.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use gates::Gates;
use server::{Credentials, Options, Server, Users};

/// Serves until killed.
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[arg(long)]
    listen: SocketAddr,
    #[arg(long)]
    data_dir: PathBuf,
    #[arg(long)]
    admin_token: String,
}

/// Where a server with this data directory keeps its authority's certificate.
pub(crate) fn authority(data_dir: &Path) -> PathBuf {
    data_dir.join("pki").join("authority.crt")
}

impl Serve {
    pub(crate) async fn run(&self) -> anyhow::Result<()> {
        let (store, log, _) = server::open(&self.data_dir.join("journal"))?;
        let credentials = Credentials::make(&[Ipv4Addr::LOCALHOST.into()])?;
        let authority = authority(&self.data_dir);
        fs::create_dir_all(authority.parent().context("the path has a folder")?)?;
        fs::write(&authority, &credentials.authority.certificate)?;
        let server = Server::bind(Options {
            listen: self.listen,
            credentials: Some(credentials),
            users: Users::default().with_admin_token(&self.admin_token),
            gates: Gates::default(),
            store,
            log: Box::new(log),
        })
        .await?;
        println!("address https://{}", server.address()?);
        server.serve(std::future::pending()).await;
        Ok(())
    }
}
