//! The embedded API server beside a real kube-apiserver with etcd, under the same load in one run.
//!
//! Both make every write durable before they acknowledge it, speak TLS on loopback and share the machine with the load.
//! They run side by side and take turns, and the best turn of each counts, so that a busy moment of the machine does not
//! fall on one of them alone. Without the real one only ours is measured.

mod load;

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, process};

use clap::Args;

use crate::contestant::{Contestant, Program};

/// How often each server gets its turn.
const TURNS: usize = 3;
/// How many pods are made before anything is measured.
const WARM_UP: usize = 200;

/// Measures the embedded API server, and a real one where it is present.
#[derive(Args, Debug)]
pub(crate) struct Apiserver {
    /// How many pods are made and listed
    #[arg(long, default_value_t = 10_000)]
    pods: usize,
    /// How many watches see the same changes
    #[arg(long, default_value_t = 100)]
    watchers: usize,
    /// How many pods each watch sees
    #[arg(long, default_value_t = 1_000)]
    watched: usize,
    /// How many objects are there when the start is timed; 0 leaves that out
    #[arg(long, default_value_t = 100_000)]
    startup_objects: usize,
    /// Measure only ours, even where the real one is present
    #[arg(long)]
    ours_only: bool,
}

/// A server with what was measured of it.
struct Entrant {
    program: Program,
    dir: PathBuf,
    server: Contestant,
    figures: Figures,
}

/// What was measured of one server: the best of all turns.
#[derive(Default)]
struct Figures {
    creates_1: f64,
    creates_16: f64,
    list_bytes: usize,
    list: Option<Duration>,
    events: f64,
    /// Resident bytes before and after the pods were made, and at the end.
    memory: [u64; 3],
    start_empty: Duration,
    start_full: Option<Duration>,
}

impl Apiserver {
    pub(crate) fn run(&self) -> anyhow::Result<()> {
        let mut programs = vec![Program::ours()?];
        let assets = env::var_os("KUBEBUILDER_ASSETS").unwrap_or_else(|| "/usr/local/kubebuilder/bin".into());
        match Program::real(&PathBuf::from(&assets)) {
            Some(_) if self.ours_only => {}
            Some(real) => programs.push(real),
            None => println!(
                "no kube-apiserver and etcd in {}: only ours is measured; hint: set KUBEBUILDER_ASSETS\n",
                assets.display()
            ),
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let dir = env::temp_dir().join(format!("supercargo-bench-{}", process::id()));
        let measured = runtime.block_on(self.measure(programs, &dir));
        let removed = fs::remove_dir_all(&dir);
        self.report(&measured?);
        Ok(removed?)
    }

    async fn measure(&self, programs: Vec<Program>, dir: &Path) -> anyhow::Result<Vec<Entrant>> {
        let mut entrants = Vec::new();
        for (at, program) in programs.into_iter().enumerate() {
            let dir = dir.join(at.to_string());
            fs::create_dir_all(&dir)?;
            let (server, start_empty) = Contestant::start(&program, &dir, &[]).await?;
            load::create(&server.place, 16, WARM_UP, "warm").await?;
            let memory = [server.resident_bytes(), 0, 0];
            let figures = Figures { start_empty, memory, ..Figures::default() };
            entrants.push(Entrant { program, dir, server, figures });
        }
        for turn in 0..TURNS {
            for Entrant { server, figures, .. } in &mut entrants {
                let alone = self.pods / 5 / TURNS;
                let took = load::create(&server.place, 1, alone, &format!("one-{turn}")).await?;
                figures.creates_1 = figures.creates_1.max(alone as f64 / took.as_secs_f64());
                let many = self.pods / TURNS - alone;
                let took = load::create(&server.place, 16, many, &format!("many-{turn}")).await?;
                figures.creates_16 = figures.creates_16.max(many as f64 / took.as_secs_f64());
                figures.memory[1] = server.resident_bytes();
            }
        }
        for turn in 0..TURNS {
            for Entrant { server, figures, .. } in &mut entrants {
                let (bytes, took) = load::list(&server.place, self.pods / TURNS * TURNS).await?;
                figures.list_bytes = figures.list_bytes.max(bytes);
                figures.list = Some(figures.list.map_or(took, |best| best.min(took)));
                let prefix = format!("seen-{turn}");
                let took = load::fan_out(&server.place, self.watchers, self.watched, &prefix).await?;
                let events = (self.watchers * self.watched) as f64 / took.as_secs_f64();
                figures.events = figures.events.max(events);
                figures.memory[2] = server.resident_bytes();
            }
        }
        if self.startup_objects > 0 {
            for entrant in &mut entrants {
                self.start_full(entrant).await?;
            }
        }
        Ok(entrants)
    }

    /// Times a start with many objects.
    async fn start_full(&self, entrant: &mut Entrant) -> anyhow::Result<()> {
        let more = self.startup_objects.saturating_sub(self.pods + self.watched * TURNS + WARM_UP);
        load::create(&entrant.server.place, 16, more, "more").await?;
        entrant.server.stop();
        let (server, took) = Contestant::start(&entrant.program, &entrant.dir, &[]).await?;
        entrant.figures.start_full = Some(took);
        entrant.server = server;
        Ok(())
    }

    fn report(&self, entrants: &[Entrant]) {
        let count = self.pods;
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let rows: [Row<'_>; 12] = [
            ("creates/s, 1 connection".into(), &|one| one.creates_1, Better::More, "5x"),
            ("creates/s, 16 connections".into(), &|one| one.creates_16, Better::More, "5x"),
            (format!("list of {count} pods, ms"), &|one| one.list.map_or(f64::NAN, ms), Better::Less, "3x"),
            (format!("list of {count} pods, MB"), &|one| one.list_bytes as f64 / 1e6, Better::Less, ""),
            (format!("events/s to {} watches", self.watchers), &|one| one.events, Better::More, ""),
            ("memory when empty, MiB".into(), &|one| mib(one.memory[0]), Better::Less, ""),
            (format!("memory with {count} pods, MiB"), &|one| mib(one.memory[1]), Better::Less, "5x"),
            ("memory after all, MiB".into(), &|one| mib(one.memory[2]), Better::Less, ""),
            (
                "memory of an object, KiB".into(),
                &|one| grown(one) as f64 / 1024.0 / count as f64,
                Better::Less,
                "5x",
            ),
            (
                "object on the wire, KiB".into(),
                &|one| one.list_bytes as f64 / 1024.0 / count as f64,
                Better::Less,
                "",
            ),
            ("start when empty, ms".into(), &|one| ms(one.start_empty), Better::Less, ""),
            (
                format!("start with {} objects, ms", self.startup_objects),
                &|one| one.start_full.map_or(f64::NAN, ms),
                Better::Less,
                "",
            ),
        ];
        print!("{:<32}", "");
        entrants.iter().for_each(|entrant| print!("{:>24}", entrant.program.name()));
        println!("{:>10}{:>7}", "ratio", "goal");
        for (name, figure, better, goal) in rows {
            print!("{name:<32}");
            let figures: Vec<f64> = entrants.iter().map(|entrant| figure(&entrant.figures)).collect();
            if figures.iter().any(|figure| figure.is_nan()) {
                println!("{:>24}", "not measured");
                continue;
            }
            figures.iter().for_each(|figure| print!("{figure:>24.1}"));
            match (&figures[..], better) {
                ([ours, real], Better::More) => println!("{:>9.1}x{goal:>7}", ours / real),
                ([ours, real], Better::Less) => println!("{:>9.1}x{goal:>7}", real / ours),
                _ => println!("{:>10}{goal:>7}", "-"),
            }
        }
    }
}

/// What is told, the figure, which of two figures is the better one, and by how much it should be.
type Row<'a> = (String, &'a dyn Fn(&Figures) -> f64, Better, &'static str);

/// Which figure is the better one.
enum Better {
    More,
    Less,
}

fn grown(figures: &Figures) -> u64 {
    figures.memory[1].saturating_sub(figures.memory[0])
}
