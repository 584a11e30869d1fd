//! Controllers of which one process of several is elected to run them.
//!
//! Invariant: nothing is followed or done before we lead, so what a leader before us wrote is read by whoever comes next.

use client::{BadTerms, Candidacy, Connection, Leadership, lead};
use tokio::sync::watch;

use crate::notice::{Listener, Notice};
use crate::{Options, keep};

/// How controllers ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// They were told to.
    Stopped,
    /// This process leads no longer, and must not go on.
    LostLeadership {
        /// What happened.
        why: String,
    },
}

/// Waits until it is our turn, and keeps objects in order until it is told to stop or leads no longer. The election has a
/// connection of its own, so that nothing else delays a renewal.
///
/// # Errors
/// When the times of the election do not fit together.
pub async fn run_elected(
    connection: Connection,
    options: Options,
    (electing, candidacy): (Connection, Candidacy),
    stop: impl Future<Output = ()> + Send,
) -> Result<Ended, BadTerms> {
    tokio::pin!(stop);
    let election = lead(electing, candidacy)?;
    let mut state = election.state();
    let listener = options.listener.clone();
    let lost = tokio::select! {
        lost = elected(&mut state, &*listener) => lost,
        () = &mut stop => Some(Ended::Stopped),
    };
    let ended = match lost {
        Some(ended) => ended,
        None => {
            let over = async {
                tokio::select! {
                    why = leads_no_longer(&mut state) => Ended::LostLeadership { why },
                    () = &mut stop => Ended::Stopped,
                }
            };
            keep(connection, options, over).await
        }
    };
    election.resign().await;
    Ok(ended)
}

/// Done when we lead, or why we never will.
async fn elected(state: &mut watch::Receiver<Leadership>, listener: &dyn Listener) -> Option<Ended> {
    let mut told: Option<Option<String>> = None;
    loop {
        match &*state.borrow_and_update() {
            Leadership::Leading { .. } => {
                listener.hear(&Notice::Leading);
                return None;
            }
            Leadership::Following { leader, trouble } => {
                if let Some(why) = trouble {
                    listener.hear(&Notice::ElectionTrouble { why });
                }
                if told.as_ref() != Some(leader) {
                    listener.hear(&Notice::Standby { leader: leader.as_deref() });
                    told = Some(leader.clone());
                }
            }
            Leadership::Lost { why } => return Some(Ended::LostLeadership { why: why.clone() }),
            Leadership::Resigned => return Some(Ended::Stopped),
        }
        if state.changed().await.is_err() {
            return Some(Ended::LostLeadership { why: "the election is over".to_owned() });
        }
    }
}

/// Done when we lead no longer; says why.
async fn leads_no_longer(state: &mut watch::Receiver<Leadership>) -> String {
    loop {
        match &*state.borrow_and_update() {
            Leadership::Lost { why } => return why.clone(),
            Leadership::Resigned => return "it was given up".to_owned(),
            Leadership::Leading { .. } | Leadership::Following { .. } => {}
        }
        if state.changed().await.is_err() {
            return "the election is over".to_owned();
        }
    }
}
