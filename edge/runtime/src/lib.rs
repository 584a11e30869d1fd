//! The scheduler at work: the engine, joined to an API server.
//!
//! Each kind that the engine knows is listed and watched, and becomes facts ([`feed`]). One loop hands facts, turns and
//! answers to the engine and takes its effects ([`drive`]). Writes are carried out many at a time ([`carry`]), and what
//! people want to know becomes events ([`events`]). Those who only look are told the same ([`observe`]). All that the engine is told and does can be recorded ([`tap`]).
//!
//! Invariant: nothing is decided here. All that is known can be had again from the API, so that a process that dies is
//! replaced by one that goes on.

mod carry;
mod drive;
mod events;
mod facts;
mod feed;
mod kept;
mod lanes;
mod notice;
mod observe;
mod shadow;
mod tap;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use client::{BadTerms, Candidacy, Connection};
use decisions::settings::Settings;
use thiserror::Error;

pub use drive::Ended;
pub use lanes::lanes;
pub use notice::{AttemptResult, Comparison, Listener, Notice, State};
pub use observe::{Shown, Sighting, observe};
pub use recordings::{RecordingError, Target};
pub use tap::Recording;

use drive::Drive;

/// How a scheduler works on a cluster.
pub struct Options {
    /// How it decides.
    pub settings: Settings,
    /// On how many threads it looks at nodes at the most, if the machine has as many cores.
    pub parallelism: u32,
    /// The election of a leader that it takes part in, over a connection of its own so that nothing else delays a renewal;
    /// without one it works at once.
    pub candidacy: Option<(Connection, Candidacy)>,
    /// Where the election runs, so that a long search does not delay a renewal; by default beside everything else.
    pub aside: Option<tokio::runtime::Handle>,
    /// It writes nothing, and tells where it would have decided otherwise.
    pub shadow: bool,
    /// How many writes may be on their way before no more pods are looked at.
    pub writes_max: usize,
    /// How long writes that are on their way may take once it is to stop.
    pub stop_within: Duration,
    /// Who hears what happens.
    pub listener: Arc<dyn Listener>,
    /// What the engine is told and does is recorded here.
    pub recording: Option<Recording>,
}

/// Why a scheduler could not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// The times of the election do not fit together.
    #[error(transparent)]
    Terms(#[from] BadTerms),
    /// The API server does not say what it serves.
    #[error("cannot ask {server} what it serves: {why}")]
    Discovery {
        /// The server.
        server: String,
        /// What went wrong.
        why: String,
    },
    /// The recording cannot begin.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// Schedules pods until it is told to stop, or leads no longer.
///
/// # Errors
/// When it cannot start.
pub async fn run(
    connection: Connection,
    options: Options,
    stop: impl Future<Output = ()> + Send,
) -> Result<Ended, StartError> {
    tokio::pin!(stop);
    let feeds = tokio::select! {
        feeds = feed::feeds(&connection, options.settings.gates, &*options.listener) => feeds?,
        () = &mut stop => return Ok(Ended::Stopped),
    };
    let election = match &options.candidacy {
        Some((connection, candidacy)) => {
            let _elsewhere = options.aside.as_ref().map(tokio::runtime::Handle::enter);
            Some(client::lead(connection.clone(), candidacy.clone())?)
        }
        None => None,
    };
    let leadership = election.as_ref().map(client::Election::state);
    let mut drive = Drive::new(connection, options, feeds)?;
    let ended = tokio::select! {
        ended = drive.run(leadership) => ended,
        () = &mut stop => Ended::Stopped,
    };
    drive.finish().await;
    if let Some(election) = election {
        election.resign().await;
    }
    Ok(ended)
}
