//! One of the connections that watch. Changes come in the order of their revisions, each once.

use caller::{CallError, Caller, Place};
use serde_json::Value;

use crate::wire::{Id, Kind, revision};
use crate::writer::Shared;

/// Watches until the connection breaks: from a revision that was seen before the server was killed if the server still
/// knows what came after it, else from the revision of a list.
pub(crate) async fn watch(place: Place, shared: Shared, kind: Kind, before: u64, listed: u64) {
    for from in [before, listed] {
        match follow(&place, &shared, kind, from).await {
            Ok(End::TooOld) if from < listed => {}
            Ok(End::TooOld) => {
                shared.ledger().violated(format!("{kind:?}: {from} was listed and is too old"));
                return;
            }
            Ok(End::Closed) | Err(_) => return,
        }
    }
}

enum End {
    Closed,
    TooOld,
}

async fn follow(place: &Place, shared: &Shared, kind: Kind, from: u64) -> Result<End, CallError> {
    let path = format!("{}?watch=1&resourceVersion={from}", kind.path());
    let mut lines = Caller::connect(place).await?.lines(&path).await?;
    if lines.code() == 410 {
        return Ok(End::TooOld);
    }
    let mut last = from;
    while let Some(line) = lines.line().await? {
        // A line that the kill cut in two has no end and never comes here.
        match read(kind, &line) {
            Ok(Change::TooOld) => return Ok(End::TooOld),
            Ok(Change::Foreign) => {}
            Ok(Change::Ours(shown, deleted)) => {
                let mut ledger = shared.ledger();
                if shown.revision <= last {
                    ledger.violated(format!("{kind:?}: a watch told {} after {last}", shown.revision));
                }
                last = shown.revision;
                ledger.observed(shown, deleted);
            }
            Err(error) => shared.ledger().violated(format!("{kind:?}: a watch told nonsense: {error}")),
        }
    }
    Ok(End::Closed)
}

enum Change {
    TooOld,
    Foreign,
    Ours(crate::wire::Shown, bool),
}

fn read(kind: Kind, line: &[u8]) -> anyhow::Result<Change> {
    let event: Value = serde_json::from_slice(line)?;
    match event["type"].as_str() {
        Some("ERROR") if event["object"]["code"] == 410 => Ok(Change::TooOld),
        Some(change @ ("ADDED" | "MODIFIED" | "DELETED")) => {
            revision(&event["object"])?;
            let ours = Id::read(kind, &event["object"])?;
            Ok(ours.map_or(Change::Foreign, |shown| Change::Ours(shown, change == "DELETED")))
        }
        _ => anyhow::bail!("{event}"),
    }
}
