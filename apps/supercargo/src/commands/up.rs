//! `supercargo up`: a whole cluster in one process, with sample GPUs and pods, shown live.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::page::Page;
use clap::Args;
use client::{Answer, Connection, Event, Resource, Selectors};
use config::SchedulerSettings;
use gates::Gates;
use inventory::observed::Namespaces;
use kubelet::simulated::Times;
use objects::batch::Job;
use objects::core::pod::Pod;
use objects::resource::claim::ResourceClaim;
use simulation::Manifest;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::cli::{address, seconds};
use crate::cluster::{Base, Cluster, Heard};
use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::commands::simulate::read_path;
use crate::embedded;
use crate::failure::{Failure, UNWELCOME};
use crate::live::{Board, Show, is_live};
use crate::page::{self, Serving, ShownCluster};
use crate::private_file::Held;
use crate::sample::{self, Wanted};

const EXAMPLES: &str = "\
Examples:
  supercargo up                                       four nodes with eight GPUs each, and sample pods
  supercargo up --nodes 100 -f pods.yaml              a larger cluster, and your own pods
  supercargo up --no-examples --data-dir data         an empty cluster that persists
  supercargo up --no-examples -f cluster/ --exit-when-settled   for scripts
  cargo run --release -- up                           from the source

Exit codes: 0 stopped; with --exit-when-settled, 0 if every pod is scheduled and 3 if a pod waits; 1 after a failure, 2 usage error";

/// The default address, if it is not in use.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 6443);

/// How many nodes the sample cluster can have: more of them do not fit into the memory of most machines.
const NODES_MAX: u32 = 10_000;

/// How many nodes the sample cluster has.
const NODES: u32 = 4;

/// How often what is shown is brought up to date.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// Everything is settled when nothing has happened for so long.
const QUIET: Duration = Duration::from_millis(1500);

/// How long to wait for the reason of a pending pod; there is none if no scheduler handles the pod.
const QUIET_UNEXPLAINED: Duration = Duration::from_secs(10);

/// How many facts may wait to be shown; beyond that their streams do.
const INBOX_MAX: usize = 1024;

/// Start a whole cluster on this machine: API server, scheduler, controllers, simulated nodes and sample pods
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Up {
    /// Number of sample nodes, with eight GPUs each [default: 4, or 0 with --no-examples]
    #[arg(long, value_name = "N", value_parser = nodes)]
    nodes: Option<u32>,
    /// Start without the sample nodes and pods
    #[arg(long)]
    no_examples: bool,
    /// Manifest files to create, folders of manifests, or - for stdin
    #[arg(short, long = "filename", value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Directory for all data; without it, data is kept in memory and lost when the process exits
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// The address to listen on; port 0 chooses a free port [default: 127.0.0.1:6443, or a free port if 6443 is in use]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    listen: Option<SocketAddr>,
    /// File to write the kubeconfig to [default: kubeconfig in the data directory, or in the user's state directory;
    /// kubeconfig-2 and so on if other clusters are running]
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Seconds until a pod that has a node runs, unless its annotation supercargo.dev/start-seconds says otherwise
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "0.3", value_parser = seconds)]
    start_seconds: Duration,
    /// Seconds until the containers of a pod end, if it is to end (restartPolicy Never or OnFailure), unless its annotation
    /// supercargo.dev/run-seconds says otherwise
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, default_value = "5", value_parser = seconds)]
    run_seconds: Duration,
    /// Exit when every pod runs, has terminated, or waits with no change pending
    #[arg(long)]
    exit_when_settled: bool,
    /// Feature gates to set, such as AllAlpha=true,DRADeviceTaints=false
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
    /// Address of the web page, on this machine; port 0 chooses a free port [default: 127.0.0.1:6480, or a free port if 6480 is in
    /// use; no page with --exit-when-settled]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, conflicts_with = "no_page")]
    page: Option<SocketAddr>,
    /// Do not serve the web page
    #[arg(long)]
    no_page: bool,
}

/// Something that happened to what is shown.
enum Fact {
    Job(Box<Event<Job>>),
    Pod(Box<Event<Pod>>),
    Claim(Box<Event<ResourceClaim>>),
}

/// How it ended.
enum Ending {
    Stopped,
    Settled,
}

fn nodes(text: &str) -> Result<u32, String> {
    let count = text.parse().ok().filter(|count| *count <= NODES_MAX);
    count.ok_or_else(|| format!("must be a whole number from 0 to {NODES_MAX}"))
}

impl Up {
    pub(crate) fn run(&self, out: &mut dyn Write) -> Result<ExitCode, Failure> {
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(self.up(gates, out))
    }

    async fn up(&self, gates: Gates, out: &mut dyn Write) -> Result<ExitCode, Failure> {
        // What is wrong with a manifest is said before anything is started.
        let wanted = sample::wanted(self.manifests()?)?;
        let base = Base::listen(self.address(), self.data_dir.as_deref(), gates).await?;
        // The file is this server's as long as it runs.
        let kubeconfig = self.write_kubeconfig(&base)?;
        let nodes = wanted.iter().filter(|one| one.plural == "nodes").count();
        let nodes = format!("{nodes} simulated {}", if nodes == 1 { "node" } else { "nodes" });
        let path = kubeconfig.path.display();
        let page = self.page(&base, &kubeconfig.path).await?;
        let link = page.as_ref().map(|page| format!("page        {}\n", page.link())).unwrap_or_default();
        let head = format!(
            "address     https://{}\nkubeconfig  {path}\n{link}storage     {}\nruns        API server, scheduler, \
             controllers, {nodes}\ntry         kubectl --kubeconfig {path} get pods -o wide\n",
            base.address, base.storage,
        );
        heard(out.write_all(head.as_bytes()).and_then(|()| writeln!(out)).and_then(|()| out.flush()))?;
        let (ears, hearing) = channel(INBOX_MAX);
        let mut cluster = base.start(self.times(), &ears)?;
        let serving = page.map(|page| Serving::start(page, &Handle::current()));
        let ending = self.watch(&mut cluster, wanted, hearing, out).await;
        if let Some(serving) = serving {
            serving.end().await;
        }
        tokio::select! {
            () = cluster.stop() => {}
            // Whoever asks twice does not want to wait.
            () = stopped() => {}
        }
        ending
    }

    /// The web page, unless there is to be none. A script that waits for the end of the command opens none.
    async fn page(&self, base: &Base, kubeconfig: &Path) -> Result<Option<Page>, Failure> {
        if self.no_page || self.exit_when_settled && self.page.is_none() {
            return Ok(None);
        }
        let settings = SchedulerSettings::defaults(base.gates());
        let shown = ShownCluster {
            connector: base.connector(),
            settings: scheduling::settings(&settings, base.gates()),
            config: None,
            features: self.feature_gates.clone(),
            title: format!("https://{}", base.address),
            named: Namespaces::All,
            namespaces: Vec::new(),
            sessions: Some(PathBuf::from(format!("{}.page", kubeconfig.display()))),
        };
        shown.bind(self.page.unwrap_or_else(page::free_address)).await.map(Some)
    }

    fn times(&self) -> Times {
        Times { start: self.start_seconds, run: Some(self.run_seconds), ..Times::default() }
    }

    fn manifests(&self) -> Result<Vec<Manifest>, Failure> {
        let nodes = self.nodes.unwrap_or(if self.no_examples { 0 } else { NODES });
        let mut manifests = sample::nodes(nodes)?;
        if !self.no_examples {
            manifests.extend(sample::workloads()?);
        }
        for file in &self.files {
            manifests.extend(read_path(file)?);
        }
        Ok(manifests)
    }

    fn address(&self) -> SocketAddr {
        let any = SocketAddr::new(LISTEN.ip(), 0);
        self.listen.unwrap_or_else(|| if TcpListener::bind(LISTEN).is_ok() { LISTEN } else { any })
    }

    /// Writes the kubeconfig where it was asked for, or where no other server has its own.
    fn write_kubeconfig(&self, base: &Base) -> Result<Held, Failure> {
        let path = self.write_kubeconfig.clone().unwrap_or_else(|| self.default_kubeconfig());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| {
                Failure::hinted(&format!("cannot create the folder {}: {error}", folder.display()))
            })?;
        }
        match &self.write_kubeconfig {
            Some(_) => embedded::write_kubeconfig(&path, base.address, &base.credentials),
            None => embedded::write_any_kubeconfig(&path, base.address, &base.credentials),
        }
    }

    fn default_kubeconfig(&self) -> PathBuf {
        if let Some(dir) = &self.data_dir {
            return dir.join("kubeconfig");
        }
        let folder = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || folder("HOME").map(|home| home.join(".local/state"));
        let state = folder("XDG_STATE_HOME").or_else(home).unwrap_or_else(env::temp_dir);
        state.join("supercargo").join("kubeconfig")
    }

    /// Creates the manifests, and shows the pods until the command ends.
    async fn watch(
        &self,
        cluster: &mut Cluster,
        wanted: Vec<Wanted>,
        hearing: Receiver<Heard>,
        out: &mut dyn Write,
    ) -> Result<ExitCode, Failure> {
        let mut board = Board::new(self.times(), cluster.schedulers.clone());
        let mut show = heard(Show::begin(is_live(), out)).map(|show| show.unwrap_or_else(Show::silent))?;
        let ending = self.follow(cluster, wanted, hearing, &mut board, &mut show, out).await;
        heard(show.end(&board, out))?;
        match ending? {
            Ending::Settled if board.tally().waiting > 0 => Ok(ExitCode::from(UNWELCOME)),
            Ending::Settled => Ok(ExitCode::SUCCESS),
            Ending::Stopped if self.exit_when_settled => {
                Err(Failure::hinted("stopped before all pods were settled"))
            }
            Ending::Stopped => Ok(ExitCode::SUCCESS),
        }
    }

    async fn follow(
        &self,
        cluster: &mut Cluster,
        wanted: Vec<Wanted>,
        mut hearing: Receiver<Heard>,
        board: &mut Board,
        show: &mut Show,
        out: &mut dyn Write,
    ) -> Result<Ending, Failure> {
        let (sender, mut inbox) = channel(INBOX_MAX);
        let mut streams = JoinSet::new();
        let (from, all) = (|| cluster.connection.clone(), Selectors::default);
        let pod = |event| Fact::Pod(Box::new(event));
        streams.spawn(from().follow(Resource::named("pods"), all(), pod, sender.clone()));
        let claim = |event| Fact::Claim(Box::new(event));
        streams.spawn(from().follow(Resource::named("resourceclaims"), all(), claim, sender.clone()));
        let job = |event| Fact::Job(Box::new(event));
        streams.spawn(from().follow(Resource::named("jobs"), all(), job, sender));
        let mut making = Some(tokio::spawn(make(from(), wanted)));
        let mut ticks = interval(DRAW_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut stop = std::pin::pin!(stopped());
        let mut calm = Calm::default();
        loop {
            tokio::select! {
                () = &mut stop => return Ok(Ending::Stopped),
                broken = cluster.broken() => return Err(broken),
                Some(fact) = inbox.recv() => {
                    let is_new = match fact {
                        Fact::Job(event) => board.take_job(*event),
                        Fact::Pod(event) => board.take_pod(*event),
                        Fact::Claim(event) => board.take_claim(*event),
                    };
                    if is_new {
                        calm.disturb();
                    }
                }
                Some(told) = hearing.recv() => match told {
                    Heard::Busy(busy) => calm.idle(!busy),
                    Heard::Trouble(trouble) => heard(show.warn(&trouble, out))?.unwrap_or_default(),
                },
                made = async { making.as_mut().expect("it is there").await }, if making.is_some() => {
                    made.map_err(|error| Failure::hinted(&error.to_string()))??;
                    making = None;
                    calm.disturb();
                }
                _ = ticks.tick() => {
                    heard(show.update(board, out))?;
                    let quiet = if board.is_explained() { QUIET } else { QUIET_UNEXPLAINED };
                    let is_settled = making.is_none() && calm.lasts(quiet) && board.is_at_rest();
                    if self.exit_when_settled && is_settled {
                        return Ok(Ending::Settled);
                    }
                }
            }
        }
    }
}

/// Whether anything happens.
struct Calm {
    since: Instant,
    /// The scheduler said, after the last thing that happened, that it has nothing to do.
    is_idle: bool,
}

impl Default for Calm {
    fn default() -> Self {
        Self { since: Instant::now(), is_idle: false }
    }
}

impl Calm {
    fn disturb(&mut self) {
        *self = Self::default();
    }

    fn idle(&mut self, is_idle: bool) {
        if is_idle {
            self.is_idle = true;
        } else {
            self.disturb();
        }
    }

    fn lasts(&self, quiet: Duration) -> bool {
        self.is_idle && self.since.elapsed() >= quiet
    }
}

/// A closed pipe is not an error: the cluster keeps running.
fn heard<T>(written: io::Result<T>) -> io::Result<Option<T>> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(None),
        written => written.map(Some),
    }
}

/// Creates objects one after the other. Existing objects are not changed.
async fn make(connection: Connection, wanted: Vec<Wanted>) -> Result<(), Failure> {
    for one in wanted {
        let Wanted { manifest, plural, namespace } = one;
        let api_version = manifest.value["apiVersion"].as_str().unwrap_or_default();
        match connection.create_untyped(api_version, plural, &namespace, &manifest.value).await {
            Answer::Done(_) | Answer::AlreadyExists(_) => {}
            refused => {
                let why = refused.trouble().unwrap_or_default();
                return Err(Failure::hinted(&format!("{}: {why}", manifest.place)));
            }
        }
    }
    Ok(())
}
