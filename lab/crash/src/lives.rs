//! The lives of a server: started, written to, killed, and started again on the same directory.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, process};

use anyhow::{Context, ensure};
use caller::{Caller, Launched, Place};
use clap::Args;
use hyper::Method;
use serde_json::Value;
use tokio::time::sleep;

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::observer;
use crate::serve;
use crate::wire::{Id, Kind, Shown, revision};
use crate::writer::{self, Shared};

const TOKEN: &str = "crash";
/// How long a connection may take to notice that the server is gone.
const NOTICE: Duration = Duration::from_secs(20);
/// One life in so many lasts until the server looks after its log, which it does every five seconds.
const LONG_LIFE_EVERY: u64 = 10;
/// One kill in so many comes while the server starts.
const EARLY_KILL_EVERY: u64 = 6;

/// Kills a server again and again.
#[derive(Args, Debug)]
pub(crate) struct Lives {
    /// How often the server is killed
    #[arg(long, default_value_t = 50)]
    kills: u64,
    /// What is written, and when the server is killed
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many connections write
    #[arg(long, default_value_t = 16)]
    connections: u64,
    /// Kill this `supercargo` instead of a server of our own
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

/// What is measured on the way.
#[derive(Default)]
struct Figures {
    early_kills: u64,
    restarts: Vec<Duration>,
    snapshots: u64,
}

impl Lives {
    pub(crate) async fn run(&self) -> anyhow::Result<ExitCode> {
        let dir = env::temp_dir().join(format!("supercargo-crash-{}", process::id()));
        ensure!(!dir.exists(), "{} is in the way", dir.display());
        fs::create_dir_all(&dir)?;
        let shared = Shared::default();
        let mut figures = Figures::default();
        let began = Instant::now();
        self.live(&dir, &shared, &mut figures).await.with_context(|| format!("see {}", dir.display()))?;
        let ledger = shared.ledger();
        self.report(&ledger, &figures, began.elapsed());
        if ledger.violations.is_empty() {
            fs::remove_dir_all(&dir)?;
            return Ok(ExitCode::SUCCESS);
        }
        for violation in ledger.violations.iter().take(20) {
            eprintln!("broken: {violation}");
        }
        eprintln!("hint: the server's files are kept in {}", dir.display());
        Ok(ExitCode::FAILURE)
    }

    async fn live(&self, dir: &Path, shared: &Shared, figures: &mut Figures) -> anyhow::Result<()> {
        let mut dice = Dice::new(self.seed, 0);
        let mut kills = 0;
        while kills < self.kills {
            if kills > 0 && dice.below(EARLY_KILL_EVERY) == 0 {
                let mut server = Launched::start(self.command(dir).stdout(process::Stdio::null()))?;
                sleep(Duration::from_micros(dice.below(40_000))).await;
                server.kill()?;
                figures.early_kills += 1;
                kills += 1;
                continue;
            }
            let (mut server, place, before, listed) = self.start(dir, shared, figures).await?;
            let snapshots = snapshots(dir);
            let mut tasks = tokio::task::JoinSet::new();
            for kind in Kind::ALL {
                tasks.spawn(observer::watch(place.clone(), shared.clone(), kind, before, listed));
            }
            for writer in 0..self.connections {
                let dice = Dice::new(self.seed, 1 + kills * self.connections + writer);
                tasks.spawn(writer::write(place.clone(), shared.clone(), writer, dice));
            }
            let longer = if kills % LONG_LIFE_EVERY == LONG_LIFE_EVERY - 1 { 5_000 } else { 20 };
            sleep(Duration::from_micros(longer * 1_000 + dice.below(600_000))).await;
            ensure!(server.runs()?, "the server ended by itself");
            server.kill()?;
            kills += 1;
            figures.snapshots += u64::from(self::snapshots(dir) != snapshots);
            let ended = async { while tasks.join_next().await.is_some() {} };
            tokio::time::timeout(NOTICE, ended).await.context("a connection outlived the server")?;
            if !shared.ledger().violations.is_empty() {
                return Ok(());
            }
        }
        self.start(dir, shared, figures).await.map(drop)
    }

    /// Starts the server and checks what it kept; gives the highest revision seen before, and that of the lists.
    async fn start(
        &self,
        dir: &Path,
        shared: &Shared,
        figures: &mut Figures,
    ) -> anyhow::Result<(Launched, Place, u64, u64)> {
        let began = Instant::now();
        let (server, address) = Launched::listening(&mut self.command(dir))?;
        let place = place(address, dir)?;
        let mut caller = Caller::connect(&place).await?;
        let mut found = Vec::new();
        let mut listed = 0;
        for (at, kind) in Kind::ALL.into_iter().enumerate() {
            listed = listed.max(list(&mut caller, kind, &mut found).await?);
            if at == 0 {
                figures.restarts.push(began.elapsed());
            }
        }
        let before = shared.ledger().highest().max(1);
        shared.ledger().restarted(listed, &found);
        Ok((server, place, before, listed))
    }

    fn command(&self, dir: &Path) -> Command {
        let program = self.server.clone().map_or_else(env::current_exe, Ok);
        let mut command = Command::new(program.unwrap_or_default());
        command.args(["apiserver", "--listen", "127.0.0.1:0", "--admin-token", TOKEN, "--data-dir"]).arg(dir);
        command
    }

    fn report(&self, ledger: &Ledger, figures: &Figures, took: Duration) {
        let mut restarts = figures.restarts.clone();
        restarts.sort();
        let ms = |at: usize| restarts.get(at).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        println!("seed                    {}", self.seed);
        println!("connections             {}", self.connections);
        println!("kills                   {}, {} of them while starting", self.kills, figures.early_kills);
        println!("lives with a snapshot   {}", figures.snapshots);
        println!("writes acknowledged     {}", ledger.acknowledged);
        println!("writes without answer   {} kept, {} lost", ledger.unanswered_kept, ledger.unanswered_lost);
        println!("changes watched         {}", ledger.observed);
        println!("highest revision        {}", ledger.highest());
        println!(
            "restart to first list   {:.0} ms median, {:.0} ms at most",
            ms(restarts.len() / 2),
            ms(restarts.len().saturating_sub(1))
        );
        println!("took                    {:.1} s", took.as_secs_f64());
        println!("broken promises         {}", ledger.violations.len());
    }
}

fn place(address: SocketAddr, dir: &Path) -> anyhow::Result<Place> {
    let authority = fs::read(serve::authority(dir)).context("the server keeps its authority")?;
    Ok(Place::new(address, &authority, TOKEN)?)
}

async fn list(caller: &mut Caller, kind: Kind, found: &mut Vec<Shown>) -> anyhow::Result<u64> {
    let answer = caller.call(Method::GET, kind.path(), Vec::new()).await?;
    ensure!(answer.code == 200, "a list was answered with {}", answer.code);
    let list: Value = serde_json::from_slice(&answer.body)?;
    for item in list["items"].as_array().context("a list has items")? {
        found.extend(Id::read(kind, item)?);
    }
    revision(&list)
}

/// The names of the snapshots that are there, complete or not.
fn snapshots(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir.join("journal")).into_iter().flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.contains("snapshot")).collect();
    names.sort();
    names
}
