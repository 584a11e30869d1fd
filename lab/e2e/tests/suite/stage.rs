//! Where cases play: a new cluster for each on our own server, one after the other on the real one.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use e2e::{Cluster, Hold, Program, Served};
use tokio::runtime::{Builder, Runtime};

/// Cases on the real server share it, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

pub fn embedded(case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    on_embedded(Served::Usual, case)
}

/// A new cluster whose server can begin anew.
pub fn kept(case: impl AsyncFnOnce(Cluster) -> Result<()>) -> Result<()> {
    runtime()?.block_on(async { case(Cluster::kept(&folder())?).await })
}

/// A new cluster that can be held at a change.
pub fn held(case: impl AsyncFnOnce(&Cluster, &Hold) -> Result<()>) -> Result<()> {
    runtime()?.block_on(async {
        let (cluster, hold) = Cluster::held(&folder())?;
        case(&cluster, &hold).await?;
        cluster.check_permissions()
    })
}

pub fn real(case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    on_real(Served::Usual, case)
}

pub fn embedded_with_groups(case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    on_embedded(Served::Groups, case)
}

pub fn real_with_groups(case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    on_real(Served::Groups, case)
}

fn on_embedded(served: Served, case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    runtime()?.block_on(async {
        let cluster = Cluster::embedded_with(&folder(), served)?;
        case(&cluster).await?;
        cluster.check_permissions()
    })
}

fn on_real(served: Served, case: impl AsyncFnOnce(&Cluster) -> Result<()>) -> Result<()> {
    // A case that failed has left nothing that the next one does not put away.
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    runtime()?.block_on(async {
        match Cluster::real_with(&folder(), served).await? {
            Ok(cluster) => case(&cluster).await,
            Err(why) => {
                eprintln!("skipped: {why}");
                Ok(())
            }
        }
    })
}

/// A scheduler that can be killed.
pub fn program() -> Program {
    Program::Own(own())
}

/// The program of this crate.
pub fn own() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_e2e"))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("e2e")
}

fn runtime() -> Result<Runtime> {
    Ok(Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}
