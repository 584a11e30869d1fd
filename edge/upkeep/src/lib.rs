//! Controllers at work: what `controllers` decides, carried out on an API server.
//!
//! Each controller is a file of its own that says which kinds it follows, what a change touches, what there is to do and
//! how ([`controller`]); [`roster`] names them all. What they share is in the middle: the objects that are followed
//! ([`world`], [`kinds`], [`follow`]), what to look at when ([`queue`]), and the loop ([`drive`]).
//!
//! Invariant: an object has at most one piece of work of a controller under way. Nothing is kept that matters and that the
//! API does not have, so that it can be stopped at any time and started again.

mod claims;
mod contexts;
mod controller;
mod device_taints;
mod drive;
mod elected;
mod evict;
mod fabric;
mod follow;
mod jobs;
mod kinds;
mod limits;
mod node_taints;
mod node_topologies;
mod nodes;
mod notice;
mod own_workloads;
mod pod_garbage;
mod pod_groups;
mod post;
mod queue;
mod roster;
mod volumes;
mod world;

use std::sync::Arc;
use std::time::Duration;

use client::{Clock, Connection, Recorder};
use gates::Gates;

pub use self::fabric::Site;
pub use elected::{Ended, run_elected};
pub use limits::{Grace, Limits};
pub use notice::{ClaimSource, ClaimState, Evictor, Listener, Notice, Reason};
pub use roster::{Choice, UnknownController, names};

use self::fabric::Keeper;
use controller::{Controller, Tools};
use drive::Drive;

/// How controllers work on a cluster.
#[derive(Clone)]
pub struct Options {
    /// Those that run.
    pub controllers: Choice,
    /// Features of the cluster.
    pub gates: Gates,
    /// The fabric whose devices are attached on demand, if there is one.
    pub fabric: Option<Site>,
    /// How long controllers wait, and how much they keep.
    pub limits: Limits,
    /// How long something is left alone that looks forgotten, because somebody may be about to go on with it.
    pub patience: Duration,
    /// How long work that is under way may take once it is to stop.
    pub stop_within: Duration,
    /// Who hears what happens.
    pub listener: Arc<dyn Listener>,
}

impl Default for Options {
    /// All controllers with the features that are on by default, and nobody listens.
    fn default() -> Self {
        Self {
            controllers: Choice::default(),
            gates: Gates::default(),
            fabric: None,
            limits: Limits::default(),
            patience: Duration::from_secs(30),
            stop_within: Duration::from_secs(20),
            listener: Arc::new(()),
        }
    }
}

/// Keeps objects in order until it is told to stop.
pub async fn run(connection: Connection, options: Options, stop: impl Future<Output = ()> + Send) {
    let over = async {
        stop.await;
        Ended::Stopped
    };
    keep(connection, options, over).await;
}

/// Keeps objects in order until it is over, and says why it is.
async fn keep(connection: Connection, options: Options, over: impl Future<Output = Ended> + Send) -> Ended {
    let clock = Clock::start();
    let recorder = Arc::new(Recorder::start(connection.clone(), clock));
    let Options { controllers, gates, fabric, limits, patience, stop_within, listener } = options;
    let tools = Tools { connection, clock, gates, limits, patience, listener, recorder: recorder.clone() };
    let mut controllers = controllers.controllers();
    controllers.extend(fabric.map(|site| Box::new(Keeper::of(site)) as Box<dyn Controller>));
    let mut drive = Drive::start(controllers, tools);
    let ended = tokio::select! {
        never = drive.run() => match never {},
        ended = over => ended,
    };
    // Whoever leads now does the same work, so ours is cut off.
    let within = if ended == Ended::Stopped { stop_within } else { Duration::ZERO };
    drive.finish(within).await;
    // Nobody holds it any more but us, unless work was cut off; then its events are, too.
    if let Some(recorder) = Arc::into_inner(recorder) {
        recorder.finish(within).await;
    }
    ended
}
