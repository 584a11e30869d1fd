//! What takes the engine long to decide, decided at once.

use model::timestamp::Timestamp;
use scheduler::engine::{ConsiderationOutcome, Effect, Engine, Input};

/// Gives the engine a turn, decides what takes long, and gives that its turn. Tells what is to be done then, and how much work it
/// was.
pub(crate) fn turn(engine: &mut Engine, now: Timestamp, attempts: u32) -> (Vec<Effect>, u64) {
    let effects = engine.handle(now, Input::Turn { attempts });
    let work = engine.work_done();
    let (effects, more) = consider(engine, now, effects);
    (effects, work + more)
}

/// Decides what takes long, and gives it its turn.
pub(crate) fn consider(engine: &mut Engine, now: Timestamp, mut effects: Vec<Effect>) -> (Vec<Effect>, u64) {
    let (mut done, mut work) = (Vec::new(), 0);
    while !effects.is_empty() || engine.begins_consideration() {
        if engine.begins_consideration() {
            effects.extend(engine.handle(now, Input::Turn { attempts: 0 }));
        }
        let mut next = Vec::new();
        for effect in effects {
            let Effect::Consider(id, consideration) = effect else {
                done.push(effect);
                continue;
            };
            let considered = consideration.run();
            work += considered.work;
            let outcome = ConsiderationOutcome::Decided(Box::new(considered));
            next.extend(engine.handle(now, Input::Considered(id, outcome)));
            next.extend(engine.handle(now, Input::Turn { attempts: 1 }));
        }
        effects = next;
    }
    (done, work)
}
