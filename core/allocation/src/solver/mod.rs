//! Is there any solution? Asked when the search in the reference's order has not decided it.
//!
//! Whatever request has the least choice goes first, what cannot be chosen beside it is closed, and what was refuted is closed for
//! all that is alike: equal devices, and bundles of requests that are alike. Counting ends branches early. From time to time the
//! search begins anew with another order, and keeps what it has learned. It reads no clock and rolls no dice: the same problem
//! gives the same answer.
//!
//! Invariant: a device is closed to a way, or a state remembered as failed, only if no solution goes on from there with it.
//! So if nothing is left to try, there is none.

mod agreement;
mod aids;
mod bits;
mod board;
mod bundles;
mod choice;
mod counting;
mod coupling;
mod equals;
mod memory;
mod model;
mod pairing;
mod seats;
mod sums;
#[cfg(test)]
pub(crate) mod tests;

use aids::{Aid, Aids};
use bits::Bits;
use board::Board;
use choice::Steering;
use memory::Failures;
use model::Model;
pub(crate) use model::depends_on_order;
use pairing::Pairing;
use seats::Seats;
use sums::Sums;

use crate::problem::Problem;
use crate::refusal::Stage;
use crate::search::Solution;
use crate::work;

/// After how many failures the search first begins anew.
const FAILURES_IN_ROUND: u64 = 64;

/// A search for any solution, which can be put down and taken up.
#[derive(Debug)]
pub(crate) struct Solver {
    aids: Aids,
    model: Model,
    board: Board,
    sums: Sums,
    pairing: Pairing,
    seats: Seats,
    failures: Failures,
    steering: Steering,
    frames: Vec<Frame>,
    stance: Stance,
    /// How many failures this round may still see.
    patience: u64,
    stale: Vec<usize>,
    useful: Bits,
    /// What is open to each request in any way, and how many devices of its own it needs at least.
    unions: Vec<u64>,
    needs: Vec<u32>,
    shortage: Option<Shortage>,
    pub steps: u64,
    pub work: u64,
}

/// A choice that was made.
#[derive(Debug)]
struct Frame {
    mark: usize,
    way: usize,
    device: usize,
}

/// What is next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stance {
    Begin,
    Forward,
    Back,
    Found,
    Impossible,
}

/// What came of it so far.
#[derive(Debug)]
pub(crate) enum Standing {
    Found(Solution),
    /// There is none; the request that goes short at once, if one does.
    Impossible(Option<Shortage>),
    Open,
}

/// A request that goes short whatever is chosen, how many devices it can have, and what stands in the way beyond what each device
/// by itself shows.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Shortage {
    pub request: usize,
    pub found: usize,
    pub stage: Stage,
}

impl Solver {
    /// Begins to look for any solution of a problem in which the order of devices decides nothing.
    pub fn new(problem: &Problem) -> Solver {
        Solver::with(problem, Aids::ALL)
    }

    /// Begins with some of the aids only.
    fn with(problem: &Problem, aids: Aids) -> Solver {
        let model = Model::new(problem);
        Solver {
            aids,
            board: Board::new(&model),
            sums: Sums::new(problem, &model, aids),
            pairing: Pairing::new(model.devices.len()),
            seats: Seats::new(&model),
            failures: Failures::default(),
            steering: Steering::new(&model),
            frames: Vec::new(),
            stance: Stance::Begin,
            patience: FAILURES_IN_ROUND,
            stale: Vec::new(),
            useful: bits::none(model.words),
            unions: vec![0; model.words * model.requests.len()],
            needs: vec![0; model.requests.len()],
            shortage: None,
            steps: 0,
            work: 0,
            model,
        }
    }

    /// Goes on until it knows, or so many steps are taken or so much work is done in all; at least one step is taken if it may be.
    pub fn advance(&mut self, steps_max: u64, work_max: u64) -> Standing {
        let begun = self.steps;
        loop {
            match self.stance {
                Stance::Found => return Standing::Found(self.solution()),
                Stance::Impossible => return Standing::Impossible(self.shortage.take()),
                _ if self.steps >= steps_max => return Standing::Open,
                _ if self.steps > begun && self.work >= work_max => return Standing::Open,
                Stance::Begin => self.begin(),
                Stance::Forward => self.forward(),
                Stance::Back => self.back(),
            }
        }
    }

    /// Looks at the whole question once.
    fn begin(&mut self) {
        self.steps += 1;
        self.stance = match self.propagate() {
            Ok(()) => Stance::Forward,
            Err(shortage) => {
                self.shortage = Some(shortage);
                Stance::Impossible
            }
        };
    }

    /// Tries one device for the request with the least choice.
    fn forward(&mut self) {
        let Some(request) = self.steering.request(&self.model, &self.board) else {
            self.stance = Stance::Found;
            return;
        };
        self.steps += 1;
        self.work += work::CHOICE + self.model.requests.len() as u64 * work::GLANCE;
        // A way that wants nothing is satisfied by being chosen, and no other way leaves more.
        let nothing = self.board.ways(&self.model, request).find(|way| self.model.ways[*way].need == 0);
        if let Some(way) = nothing {
            self.board.choose(&self.model, way);
            return;
        }
        let Some((way, device)) = self.steering.device(&self.model, &self.board, request) else {
            self.stance = Stance::Back;
            return;
        };
        self.work += u64::from(self.board.count[way]) * 2 * work::GLANCE;
        self.frames.push(Frame { mark: self.board.mark(), way, device });
        self.board.take(&self.model, way, device);
        self.work += self.model.ways.len() as u64 * work::GLANCE;
        match self.propagate() {
            Ok(()) if self.has_failed() => self.undo(),
            Ok(()) => {}
            Err(shortage) => {
                self.steering.weight[shortage.request] += 1;
                self.undo();
            }
        }
    }

    fn has_failed(&mut self) -> bool {
        if !self.aids.has(Aid::FailedStates) {
            return false;
        }
        self.work += work::STATE;
        self.look_useful();
        self.failures.contains(&self.model, &self.board, &self.useful)
    }

    /// Takes back the last choice, and closes it to all that it is refuted for.
    fn undo(&mut self) {
        let frame = self.frames.pop().expect("a choice was made");
        self.board.rewind(frame.mark);
        self.patience = self.patience.saturating_sub(1);
        self.exclude(frame.way, frame.device);
        self.stance = match self.propagate() {
            Ok(()) if self.patience == 0 && self.aids.has(Aid::Restarts) => {
                self.begin_anew();
                Stance::Forward
            }
            Ok(()) => Stance::Forward,
            Err(shortage) => {
                self.steering.weight[shortage.request] += 1;
                Stance::Back
            }
        };
    }

    /// Nothing goes on from the present state: remembers it, and goes back to the choice that led there.
    fn back(&mut self) {
        if self.frames.is_empty() {
            self.stance = Stance::Impossible;
            return;
        }
        if self.aids.has(Aid::FailedStates) {
            self.work += work::STATE;
            self.look_useful();
            self.failures.insert(&self.model, &self.board, &self.useful);
        }
        self.undo();
    }

    /// Gives up all choices, but not what was learned from them.
    fn begin_anew(&mut self) {
        if let Some(first) = self.frames.first() {
            self.board.rewind(first.mark);
        }
        self.frames.clear();
        self.steering.round += 1;
        self.patience = FAILURES_IN_ROUND << (self.steering.round / 2).min(20);
    }

    /// Closes a device that was refuted for a way, all that equal it, to the way and to all that are like it.
    fn exclude(&mut self, way: usize, device: usize) {
        let (model, board, aids) = (&self.model, &mut self.board, self.aids);
        let is_equal = |board: &Board, other: usize| {
            other == device || aids.has(Aid::EqualDevices) && equals::are_equal(model, board, device, other)
        };
        let equal: Vec<usize> =
            bits::ones(&model.ways[way].open).filter(|other| is_equal(board, *other)).collect();
        self.work += u64::from(board.count[way]) * 2 * work::GLANCE;
        let request = model.ways[way].request;
        let bundle = model.bundles.of[request];
        let is_untouched = |board: &Board, bundle: usize| {
            model.bundles.requests[bundle].iter().all(|request| board.picks[*request].is_empty())
        };
        let at = model.bundles.requests[bundle].iter().position(|member| *member == request).unwrap_or(0);
        let nth = way - model.requests[request].ways.start;
        let alike: Vec<usize> = if aids.has(Aid::AlikeRequests) && is_untouched(board, bundle) {
            let alike = &model.bundles.alike[model.bundles.kind[bundle]];
            let untouched = alike.iter().filter(|other| is_untouched(board, **other));
            untouched
                .map(|other| model.requests[model.bundles.requests[*other][at]].ways.start + nth)
                .collect()
        } else {
            vec![way]
        };
        for way in alike {
            equal.iter().for_each(|device| board.close(model, way, *device));
        }
    }

    /// The devices that a request that is not satisfied could have had at the beginning.
    fn look_useful(&mut self) {
        self.useful.fill(0);
        for request in
            (0..self.model.requests.len()).filter(|request| !self.board.is_done(&self.model, *request))
        {
            for way in &self.model.ways[self.model.requests[request].ways.clone()] {
                bits::add(&mut self.useful, &way.open);
            }
        }
    }

    fn solution(&self) -> Solution {
        let mut solution = Solution::default();
        for request in 0..self.model.requests.len() {
            let way = self.board.chosen[request].expect("a way was found for each request") as u32;
            solution.alternatives.push(way);
            let mut devices = self.board.picks[request].clone();
            devices.sort_unstable();
            solution.chosen.extend(devices.into_iter().map(|device| (way, device)));
        }
        solution
    }
}
