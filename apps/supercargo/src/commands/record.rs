//! `supercargo record`: saves what a scheduler would see of a cluster, and what it would decide, without writing to the cluster.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use client::{Answer, Connection, ListRequest, Options};
use config::SchedulerSettings;
use gates::Gates;
use runtime::{Listener, Notice, Recording, State, Target};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::cli::{bytes, seconds};
use crate::commands::apiserver::stopped;
use crate::commands::features::refusal;
use crate::configuration;
use crate::failure::Failure;
use crate::reach;

const EXAMPLES: &str = "\
Examples:
  supercargo record -o cluster.recording                      until it is stopped with Ctrl-C
  supercargo record -o cluster.recording --duration 60        for a minute
  supercargo record -o cluster.recording --duration 0         the objects as they are now
  supercargo explain trainer --state cluster.recording        why a pod waited when the recording ended
  supercargo replay cluster.recording                         would this version decide the same?

It only reads. Environment variables, commands and arguments of containers, and the annotation in which kubectl keeps whole objects, are
not saved; Secrets and ConfigMaps are not read. Names, labels, other annotations and the configuration of devices are saved.";

/// How long the first read of all objects may take.
const SYNC_WITHIN: Duration = Duration::from_secs(120);

/// How long writes may take once it is to stop: there are none.
const STOP_WITHIN: Duration = Duration::from_secs(1);

/// Save what a scheduler would see of a cluster, and what it would decide
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Record {
    /// The file to save to, which must not be there
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// For how many seconds to record once everything was read; 0 saves the objects as they are
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    duration: Option<Duration>,
    /// How much the file may take of the disk
    #[arg(long, value_name = "SIZE", default_value = "1Gi", value_parser = bytes)]
    max_size: u64,
    /// The kubeconfig of the cluster; without it $KUBECONFIG, ~/.kube/config, or the pod's service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig, if not its current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// The KubeSchedulerConfiguration of the scheduler
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Features of the scheduler to switch on or off, such as AllAlpha=true,DRADeviceTaints=false
    #[arg(long, value_name = "GATES", default_value = "")]
    feature_gates: String,
}

/// What is known of the recording.
#[derive(Clone, Debug, Default)]
struct Progress {
    /// Everything that is there was read.
    is_synced: bool,
    /// Why nothing is recorded any more.
    trouble: Option<String>,
    /// Kinds that cannot be read, with the reason.
    complaint: Option<String>,
}

/// Hears how far it is.
struct Ears(watch::Sender<Progress>);

impl Listener for Ears {
    fn hear(&self, notice: &Notice<'_>) {
        match notice {
            Notice::State(State::Working) => self.0.send_modify(|progress| progress.is_synced = true),
            Notice::RecordingEnded { why } => {
                self.0.send_modify(|progress| progress.trouble = Some((*why).to_owned()));
            }
            Notice::Interrupted { kind, why, .. } => {
                self.0.send_modify(|progress| progress.complaint = Some(format!("{kind}: {why}")));
            }
            _ => {}
        }
    }
}

impl Record {
    pub(crate) fn run(&self, out: &mut dyn Write, complaints: &mut dyn Write) -> Result<(), Failure> {
        if self.output.as_os_str() == "-" {
            return Err(Failure::Failed {
                wrong: "a recording cannot be written to stdout".to_owned(),
                hint: "name a file: supercargo record -o cluster.recording".to_owned(),
            });
        }
        let gates: Gates = self.feature_gates.parse().map_err(|error| refusal(&error))?;
        let settings = match &self.config {
            Some(path) => configuration::read(path, gates)?,
            None => SchedulerSettings::defaults(gates),
        };
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let progress = runtime.block_on(self.record(&settings, gates, complaints))?;
        if let Some(why) = progress.trouble {
            return Err(Failure::hinted(&why));
        }
        if !progress.is_synced {
            let why = progress.complaint.map(|why| format!(": {why}")).unwrap_or_default();
            let path = self.output.display();
            let wrong = format!("not everything was read, and {path} has a part only{why}");
            let hint =
                "everything has to be listed and watched that a scheduler looks at; look at the permissions";
            return Err(Failure::Failed { wrong, hint: hint.to_owned() });
        }
        writeln!(out, "recorded in {}", self.output.display())?;
        Ok(())
    }

    async fn record(
        &self,
        settings: &SchedulerSettings,
        gates: Gates,
        complaints: &mut dyn Write,
    ) -> Result<Progress, Failure> {
        let context = self.context.as_deref();
        let connection =
            reach::connect_as_user(self.kubeconfig.as_deref(), context, &Options::default()).await?;
        reached(&connection).await?;
        let (ears, heard) = watch::channel(Progress::default());
        let options = runtime::Options {
            settings: scheduling::settings(settings, gates),
            parallelism: settings.parallelism,
            candidacy: None,
            aside: None,
            shadow: true,
            writes_max: usize::MAX,
            stop_within: STOP_WITHIN,
            listener: Arc::new(Ears(ears)),
            recording: Some(Recording {
                target: Target::File { path: self.output.clone(), max: self.max_size },
                configuration: settings.document(),
            }),
        };
        let stop = until_done(heard.clone(), self.duration);
        let ended = tokio::select! {
            ended = runtime::run(connection, options, stop) => ended,
            failed = complain(heard.clone(), complaints) => return Err(failed.into()),
        };
        ended.map_err(|error| Failure::hinted(&error.to_string()))?;
        Ok(heard.borrow().clone())
    }
}

/// Fails if the server does not answer at all. A scheduler would try again and again.
async fn reached(connection: &Connection) -> Result<(), Failure> {
    let wanted = ListRequest { api_version: "v1", plural: "nodes", page_size: 1, ..ListRequest::default() };
    match connection.list_page(&wanted, None).await {
        Answer::Unavailable(why) => Err(Failure::hinted(&format!("cannot record: {why}"))),
        _ => Ok(()),
    }
}

/// Reports what cannot be read whenever that changes. It ends only if it cannot be written.
async fn complain(mut heard: watch::Receiver<Progress>, complaints: &mut dyn Write) -> io::Error {
    let mut told = None;
    while heard.changed().await.is_ok() {
        let complaint = heard.borrow_and_update().complaint.clone();
        if let Some(why) = complaint.as_ref().filter(|_| complaint != told)
            && let Err(error) = writeln!(complaints, "note: cannot read {why}; retrying")
        {
            return error;
        }
        told = complaint;
    }
    std::future::pending().await
}

/// Done when it was recorded for long enough, when that is not possible any more, or when it is interrupted.
async fn until_done(mut heard: watch::Receiver<Progress>, duration: Option<Duration>) {
    let mut troubled = heard.clone();
    let has_trouble = async {
        let _ = troubled.wait_for(|progress| progress.trouble.is_some()).await;
    };
    let is_over = async {
        let synced = heard.wait_for(|progress| progress.is_synced);
        if timeout(SYNC_WITHIN, synced).await.is_ok() {
            match duration {
                Some(duration) => sleep(duration).await,
                None => std::future::pending().await,
            }
        }
    };
    tokio::select! {
        () = stopped() => {}
        () = has_trouble => {}
        () = is_over => {}
    }
}
