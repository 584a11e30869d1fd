//! After each choice: what follows from it is closed, and what is left is counted.
//!
//! Each count drops some of the rules and asks whether even then too little is left. So a state that is given up here has no solution;
//! one that is not may have none either.

use super::aids::Aid;
use super::board::Board;
use super::{Shortage, Solver, agreement, bits};
use crate::refusal::Stage;
use crate::work;

impl Solver {
    /// Follows what is closed as far as it goes, and counts whether enough is left.
    pub(super) fn propagate(&mut self) -> Result<(), Shortage> {
        let (model, board) = (&self.model, &mut self.board);
        let short = |board: &Board, request: usize, stage: Stage| {
            let open = board.ways(model, request).map(|way| board.count[way]).max().unwrap_or(0);
            Shortage { request, found: board.picks[request].len() + open as usize, stage }
        };
        self.stale.clear();
        loop {
            let settled = board.settle(model, &mut self.stale);
            settled.map_err(|request| short(board, request, Stage::Chosen))?;
            let Some(rule) = self.stale.pop() else { break };
            let matched = if self.aids.has(Aid::Match) {
                agreement::narrow(model, board, rule, &mut self.work)
            } else {
                Ok(())
            };
            let agreed = matched.and_then(|()| match self.aids.has(Aid::Distinct) {
                true => agreement::check_distinct(model, board, rule, &mut self.work),
                false => Ok(()),
            });
            agreed.map_err(|request| short(board, request, Stage::Constraint(model.rules[rule].index)))?;
        }
        board.bound_claims(model).map_err(|request| short(board, request, Stage::Chosen))?;
        self.count()
    }

    /// Counts whether there is enough of everything for all together.
    fn count(&mut self) -> Result<(), Shortage> {
        let (model, board) = (&self.model, &self.board);
        self.useful.fill(0);
        self.unions.fill(0);
        for request in 0..model.requests.len() {
            self.needs[request] = 0;
            if board.is_done(model, request) {
                continue;
            }
            let union = &mut self.unions[request * model.words..(request + 1) * model.words];
            board.ways(model, request).for_each(|way| bits::add(union, board.open(model, way)));
            bits::add(&mut self.useful, union);
            let repeats =
                board.ways(model, request).any(|way| model.ways[way].shares || model.ways[way].admin);
            if !repeats {
                let least = board.ways(model, request).map(|way| board.missing(model, way)).min();
                self.needs[request] = least.unwrap_or(0);
            }
        }
        self.work += (model.words * model.ways.len()) as u64 * work::WORD;
        if self.aids.has(Aid::Sums)
            && let Some(shortage) = self.sums.shortage(model, board, &self.useful, &mut self.work)
        {
            return Err(shortage);
        }
        if !self.aids.has(Aid::Pairing) {
            return Ok(());
        }
        if !self.seats.is_empty() && self.aids.has(Aid::Seats) {
            self.work += model.devices.len() as u64 * 2 * work::GLANCE;
            self.seats.replace(model, board, &self.useful, &mut self.unions);
        }
        let before = self.pairing.looked_at;
        let unions = &self.unions;
        let usable = |request: usize| &unions[request * model.words..(request + 1) * model.words];
        let short = self.pairing.shortage(&self.needs, &usable);
        self.work += (model.devices.len() as u64 + self.pairing.looked_at - before) * work::WORD;
        match short {
            Some((request, found)) => {
                let stage = if self.seats.is_empty() { Stage::Chosen } else { Stage::CountersTogether };
                Err(Shortage { request, found: board.picks[request].len() + found as usize, stage })
            }
            None => Ok(()),
        }
    }
}
