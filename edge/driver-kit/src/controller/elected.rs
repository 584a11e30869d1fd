//! A controller of which one process of several is elected to run it.
//!
//! Invariant: nothing is followed or done before we lead, and nothing is begun after we lead no longer. What a leader before us wrote is
//! read by whoever comes next.

use std::sync::Arc;

use client::{Election, Leadership};
use tokio::sync::{Notify, watch};

use super::Controller;
use super::attend::Worker;

/// Works for as long as this process leads, or until it is told to stop.
pub(super) async fn run<C: Controller>(
    election: Election,
    worker: Worker<C>,
    mut stopped: watch::Receiver<bool>,
    news: Arc<Notify>,
) {
    let mut state = election.state();
    let leads = tokio::select! {
        leads = becomes(&mut state, true) => leads,
        _ = stopped.changed() => false,
    };
    if leads {
        tokio::select! {
            () = worker.run(stopped, news) => {}
            _ = becomes(&mut state, false) => {}
        }
    }
    election.resign().await;
}

/// Done when this process leads, or leads no longer; or when it never will, which is told.
async fn becomes(state: &mut watch::Receiver<Leadership>, leading: bool) -> bool {
    loop {
        match &*state.borrow_and_update() {
            Leadership::Leading { .. } if leading => return true,
            Leadership::Lost { .. } | Leadership::Resigned => return false,
            Leadership::Leading { .. } | Leadership::Following { .. } => {}
        }
        if state.changed().await.is_err() {
            return false;
        }
    }
}
