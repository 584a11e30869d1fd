//! Rules about values, looked at before devices are chosen: which values enough devices share, and whether there are enough that
//! differ.
//!
//! A device is closed only if no value of it can be had by all requests that the rule concerns.

use smallvec::SmallVec;

use super::bits::{self, Bits};
use super::board::Board;
use super::model::Model;
use super::pairing::Pairing;
use crate::constraint::{Memory, ParsedConstraint};
use crate::work;

/// The ways that a rule concerns for certain: no other way is left to their requests.
fn certain(model: &Model, board: &Board, rule: usize) -> SmallVec<[(usize, usize); 8]> {
    let is_certain = |way: usize| {
        let mut ways = board.ways(model, model.ways[way].request);
        ways.next() == Some(way) && ways.next().is_none()
    };
    let members = model.rules[rule].members.iter().copied();
    members.filter(|(way, _)| is_certain(*way) && board.missing(model, *way) > 0).collect()
}

/// Closes devices whose values not all requests that a rule concerns can have; the request for which nothing is left.
pub(super) fn narrow(model: &Model, board: &mut Board, rule: usize, spent: &mut u64) -> Result<(), usize> {
    if model.rules[rule].rule != ParsedConstraint::Match {
        return Ok(());
    }
    let certain = certain(model, board, rule);
    let Some((first, table)) = certain.first().copied() else { return Ok(()) };
    let tokens: u32 = certain.iter().map(|(way, _)| board.missing(model, *way)).sum();
    if tokens < 2 && board.memories[rule] == Memory::Empty {
        return Ok(());
    }
    let mut together = bits::none(model.words);
    let mut viable: SmallVec<[u32; 8]> = SmallVec::new();
    for value in model.tables[table].having.keys() {
        if let Memory::Values(known) = &board.memories[rule]
            && !known.contains(value)
        {
            continue;
        }
        together.fill(0);
        let shares = certain.iter().any(|(way, _)| model.ways[*way].shares || model.ways[*way].admin);
        let each = certain.iter().all(|(way, table)| {
            *spent += model.words as u64 * work::WORD;
            let Some(having) = model.tables[*table].having.get(value) else { return false };
            let open = board.open(model, *way);
            for (all, (open, having)) in together.iter_mut().zip(open.iter().zip(having.iter())) {
                *all |= open & having;
            }
            bits::count_both(open, having) >= board.missing(model, *way)
        });
        if each && (shares || bits::count(&together) >= tokens) {
            viable.push(*value);
        }
    }
    if viable.is_empty() {
        return Err(model.ways[first].request);
    }
    for (way, table) in certain {
        board.keep_agreeing(model, way, table, ParsedConstraint::Match, &viable);
    }
    Ok(())
}

/// Looks for a value of its own for each device that must differ; the request that goes short.
pub(super) fn check_distinct(
    model: &Model,
    board: &Board,
    rule: usize,
    spent: &mut u64,
) -> Result<(), usize> {
    if model.rules[rule].rule != ParsedConstraint::Distinct {
        return Ok(());
    }
    let certain = certain(model, board, rule);
    let needs: SmallVec<[u32; 8]> = certain.iter().map(|(way, _)| board.missing(model, *way)).collect();
    let tokens: u32 = needs.iter().sum();
    if tokens < 2 {
        return Ok(());
    }
    let values: Vec<u32> = model.tables[certain[0].1].having.keys().copied().collect();
    let words = bits::words(values.len());
    let usable: Vec<Bits> = certain
        .iter()
        .map(|(way, table)| {
            let having = &model.tables[*table].having;
            let open = board.open(model, *way);
            let has = |value: &u32| having.get(value).is_some_and(|set| bits::count_both(open, set) > 0);
            *spent += (values.len() * model.words) as u64 * work::WORD;
            bits::of(words, (0..values.len()).filter(|at| has(&values[*at])))
        })
        .collect();
    if usable.iter().all(|usable| bits::count(usable) >= tokens) {
        return Ok(());
    }
    // Tables may differ if a request derives the attribute; values that the first does not know are not counted then.
    if certain.iter().any(|(_, table)| *table != certain[0].1) {
        return Ok(());
    }
    match Pairing::new(values.len()).shortage(&needs, &|demand| &usable[demand]) {
        Some((short, _)) => Err(model.ways[certain[short].0].request),
        None => Ok(()),
    }
}
