//! One of the connections that write. It writes objects that nobody else writes, one at a time, until the server is gone.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use caller::{CallError, Caller, Place, RawResponse};
use hyper::Method;
use serde_json::Value;

use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::wire::{Id, Kind, WriteNumber, revision};

/// How many objects of each kind one connection writes.
const OBJECTS_EACH: u64 = 4;

/// A ledger that all connections write into.
#[derive(Clone, Default)]
pub(crate) struct Shared {
    ledger: Arc<Mutex<Ledger>>,
    steps: Arc<AtomicU64>,
    killing: Arc<AtomicBool>,
}

impl Shared {
    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().expect("nothing panics while it holds the ledger")
    }

    /// Says whether connections may break from now on.
    pub(crate) fn set_killing(&self, killing: bool) {
        self.killing.store(killing, Ordering::Release);
    }

    fn step(&self) -> WriteNumber {
        self.steps.fetch_add(1, Ordering::Relaxed)
    }
}

/// Writes until the connection breaks.
pub(crate) async fn write(place: Place, shared: Shared, writer: u64, mut dice: Dice) {
    let Ok(mut caller) = Caller::connect(&place).await else { return };
    loop {
        let kind = Kind::ALL[dice.below(2) as usize];
        let id = Id { kind, writer, number: dice.below(OBJECTS_EACH) };
        if let Err(error) = one(&mut caller, &shared, id, &mut dice).await {
            if !shared.killing.load(Ordering::Acquire) {
                shared
                    .ledger()
                    .violated(format!("{id:?}: left without an answer by a living server: {error}"));
            }
            return;
        }
    }
}

/// Makes, changes or deletes an object.
async fn one(caller: &mut Caller, shared: &Shared, id: Id, dice: &mut Dice) -> Result<(), CallError> {
    let state = shared.ledger().state(id);
    let step = shared.step();
    let deletes = state.is_some() && dice.below(4) == 0;
    shared.ledger().asked(id, (!deletes).then_some(step));
    let answer = match state {
        Some(_) if deletes => caller.call(Method::DELETE, &id.path(), Vec::new()).await?,
        Some((_, over)) => caller.call(Method::PUT, &id.path(), id.object(step, Some(over))).await?,
        None => caller.call(Method::POST, id.kind.path(), id.object(step, None)).await?,
    };
    let mut ledger = shared.ledger();
    if answer.code != if state.is_some() { 200 } else { 201 } {
        ledger.refused(id, answer.code, &String::from_utf8_lossy(&answer.body));
        return Ok(());
    }
    let told = (!deletes).then(|| told(&answer, id, step)).transpose();
    match told {
        Ok(told) => {
            if let Some(revision) = told {
                ledger.must_be_new(revision);
            }
            ledger.acknowledged(id, told);
        }
        Err(error) => ledger.violated(format!("{id:?}: {error}")),
    }
    Ok(())
}

/// The revision that the answer gives, if the answer shows what was sent.
fn told(answer: &RawResponse, id: Id, step: WriteNumber) -> anyhow::Result<u64> {
    let object: Value = serde_json::from_slice(&answer.body)?;
    let shown = Id::read(id.kind, &object)?;
    anyhow::ensure!(
        shown.is_some_and(|shown| shown.id == id && shown.step == step),
        "the answer shows another object"
    );
    revision(&object)
}
