//! The web page of commands that show a cluster: where it listens, what it shows, and who plans for it.
//!
//! Invariant: the page reads with the identity of the command that serves it, over connections of its own.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use ::page::{Options, Page, PlanRequest, Planner, Refused, Sessions, Source};
use client::{Connection, Reach};
use decisions::settings::Settings;
use inventory::observed::Namespaces;
use plan::{Alteration, plan};
use serde_json::{Value, json};
use simulation::needed_gates;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use views::observer::Observer;

use crate::commands::plan::json::plan as plan_document;
use crate::commands::plan::{features, no_such_thing, question};
use crate::failure::Failure;
use crate::private_file;
use crate::state::{State, Terms};

/// Makes a connection to the API server.
pub(crate) type Connector =
    Arc<dyn Fn(Reach) -> Pin<Box<dyn Future<Output = Result<Connection, String>> + Send>> + Send + Sync>;

/// The default address, if it is not in use.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 6480);

/// The default address, or one with a free port.
pub(crate) fn free_address() -> SocketAddr {
    if TcpListener::bind(LISTEN).is_ok() { LISTEN } else { SocketAddr::new(LISTEN.ip(), 0) }
}

/// A cluster that a page shows.
pub(crate) struct ShownCluster {
    /// The way to its API server.
    pub(crate) connector: Connector,
    /// The settings of its scheduler.
    pub(crate) settings: Settings,
    /// The configuration file of its scheduler.
    pub(crate) config: Option<PathBuf>,
    /// Features that are set.
    pub(crate) features: String,
    /// Its address, for people.
    pub(crate) title: String,
    /// The namespaces of which claims and pods are named.
    pub(crate) named: Namespaces,
    /// Namespaces to read if not all may be read.
    pub(crate) namespaces: Vec<String>,
    /// The file that keeps who is signed in.
    pub(crate) sessions: Option<PathBuf>,
}

impl ShownCluster {
    /// Listens for browsers.
    pub(crate) async fn bind(self, listen: SocketAddr) -> Result<Page, Failure> {
        let ShownCluster { connector, settings, config, features, title, named, namespaces, sessions } = self;
        let planner = planner(connector.clone(), config, features);
        let connect = Box::new(move |reach| connector(reach));
        let source = Source::Live { connect, settings: Box::new(settings), namespaces };
        let sessions = sessions.as_deref().map(kept);
        bind(Options { listen, source, named, title, planner: Some(planner), sessions }).await
    }
}

/// Listens for browsers that look at the state of a moment.
pub(crate) async fn bind_still(
    observer: Observer,
    title: String,
    listen: SocketAddr,
) -> Result<Page, Failure> {
    let (source, named) = (Source::Still(Box::new(observer)), Namespaces::All);
    bind(Options { listen, source, named, title, planner: None, sessions: None }).await
}

async fn bind(options: Options) -> Result<Page, Failure> {
    Page::bind(options).await.map_err(|error| Failure::hinted(&error.to_string()))
}

/// The sessions in a file. Without it, browsers sign in again after a restart.
fn kept(path: &Path) -> Sessions {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let path = path.to_owned();
    Sessions { text, save: Box::new(move |text| drop(private_file::write(&path, text))) }
}

/// A page while it is served.
pub(crate) struct Serving {
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Serving {
    /// Serves a page from now on.
    pub(crate) fn start(page: Page, on: &Handle) -> Serving {
        let (stop, stopped) = oneshot::channel();
        let task = on.spawn(page.serve(async {
            // A command that forgets the page has ended.
            let _ = stopped.await;
        }));
        Serving { stop, task }
    }

    /// Serves it no more.
    pub(crate) async fn end(self) {
        drop(self.stop);
        let _ = self.task.await;
    }
}

/// Plans as `supercargo plan` does: on a copy of the cluster that is read for this.
fn planner(connector: Connector, config: Option<PathBuf>, features_set: String) -> Planner {
    let runtime = Handle::current();
    Arc::new(move |request: PlanRequest| {
        let planned = runtime.block_on(planned(&connector, config.as_ref(), &features_set, request));
        planned.map_err(|failure| match failure {
            Failure::Usage { wrong, hint } | Failure::Failed { wrong, hint } => {
                Refused { message: wrong, hint }
            }
            Failure::Output(error) => Refused { message: error.to_string(), hint: String::new() },
        })
    })
}

async fn planned(
    connector: &Connector,
    config: Option<&PathBuf>,
    features_set: &str,
    request: PlanRequest,
) -> Result<Value, Failure> {
    let PlanRequest { manifests, with, namespace } = request;
    let manifests = simulation::read("manifests", &manifests)?;
    let with: Result<Vec<Alteration>, String> = with.iter().map(|text| Alteration::parse(text)).collect();
    let with = with.map_err(|why| Failure::hinted(&why))?;
    if manifests.is_empty() && with.is_empty() {
        return Err(Failure::Failed {
            wrong: "there is nothing to plan".to_owned(),
            hint: "add manifests, or a change such as drain=node-1".to_owned(),
        });
    }
    let connection = connector(Reach::default()).await.map_err(|why| Failure::hinted(&why))?;
    let named = [features_set.to_owned()].into_iter().filter(|named| !named.is_empty());
    let terms = Terms {
        config: config.map(PathBuf::as_path),
        features: named.chain(features(&with)).collect(),
        used: needed_gates(&manifests).into_keys().collect(),
        at: None,
    };
    let mut complaints = Vec::new();
    let state = State::of_cluster(&connection, namespace.as_deref(), terms, &mut complaints).await?;
    let question = question(manifests, &with, &state, &mut complaints)?;
    let plan = plan(question).map_err(no_such_thing)?;
    let mut document = plan_document(&plan);
    let complaints = String::from_utf8_lossy(&complaints).into_owned();
    document["warnings"] = complaints.lines().map(|line| json!(line)).collect();
    Ok(document)
}
