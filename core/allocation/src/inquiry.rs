//! A question that is being answered: it can be put down at any time and taken up later.
//!
//! For some steps the first solution in the reference's order is looked for, since that is the answer that people expect. If that
//! does not decide it, any solution is looked for, or a proof that there is none. Where order decides what a solution is, there is no
//! other way than to look for the first.
//!
//! Invariant: nothing is borrowed from the question, and the answer does not depend on how often the inquiry was put down.

use std::sync::Arc;

use crate::error::AllocationError;
use crate::expressions::Expressions;
use crate::problem::Problem;
use crate::refusal::StageCount;
use crate::search::{Miss, Outcome, Search};
use crate::solver::{self, Solver, Standing};
use crate::{AllocationAnswer, Question, Reply, parse, refusal, render, work};

/// For so many steps the first solution is looked for. No recorded answer of the reference takes more than 2,408.
const FIRST_STEPS_MAX: u64 = 2_500;

/// A question that is being answered.
#[derive(Debug)]
pub struct Inquiry {
    problem: Arc<Problem>,
    phase: Phase,
    budget: u64,
    /// Whether any solution is looked for in the end.
    any: bool,
    /// What it took to begin.
    begun: u64,
}

/// What is looked for.
#[derive(Debug)]
enum Phase {
    First(Box<Search>),
    /// With where the search before came closest, and what it took.
    Any {
        solver: Box<Solver>,
        miss: Option<Miss>,
        steps: u64,
        work: u64,
    },
    Over(Result<Reply, AllocationError>),
}

/// How far an inquiry has come.
#[derive(Clone, PartialEq, Debug)]
pub enum Progress {
    /// It is over.
    Done(Result<Reply, AllocationError>),
    /// It can be taken up.
    Paused,
}

impl Inquiry {
    /// Begins to answer a question.
    ///
    /// # Errors
    /// A claim, class or slice asks for something that cannot be judged, which no choice of devices would mend.
    pub fn new(question: &Question<'_>, expressions: &mut Expressions) -> Result<Inquiry, AllocationError> {
        let problem = Arc::new(parse::parse(question, expressions)?);
        Ok(Inquiry {
            phase: Phase::First(Box::new(Search::new(problem.clone()))),
            budget: question.budget,
            any: question.budget > FIRST_STEPS_MAX && !solver::depends_on_order(&problem),
            begun: work::to_begin(&problem),
            problem,
        })
    }

    /// Whether another inquiry is about the same question.
    #[must_use]
    pub fn asks_the_same(&self, other: &Inquiry) -> bool {
        self.budget == other.budget && self.problem == other.problem
    }

    /// How many steps were taken so far, and how much work that was in nominal nanoseconds.
    pub fn spent(&self) -> (u64, u64) {
        let (steps, work) = match &self.phase {
            Phase::First(search) => (search.steps, search.work),
            Phase::Any { solver, steps, work, .. } => (steps + solver.steps, work + solver.work),
            Phase::Over(Ok(reply)) => return (reply.steps, reply.work),
            Phase::Over(Err(_)) => (0, 0),
        };
        (steps, work.saturating_add(self.begun))
    }

    /// Whether there is an answer.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over(_))
    }

    /// Goes on until there is an answer, or so much work is done, in nominal nanoseconds; at least one step is taken.
    /// An inquiry that is over gives the same answer again.
    pub fn advance(&mut self, work_max: u64) -> Progress {
        let Some(reply) = self.go_on(work_max) else { return Progress::Paused };
        self.phase = Phase::Over(reply.clone());
        Progress::Done(reply)
    }

    /// Goes on until there is an answer, or nothing if the work is done before.
    pub(crate) fn go_on(&mut self, work_max: u64) -> Option<Result<Reply, AllocationError>> {
        let until = self.spent().1.saturating_add(work_max).saturating_sub(self.begun);
        loop {
            let outcome = match &mut self.phase {
                Phase::First(search) => {
                    let budget = if self.any { FIRST_STEPS_MAX } else { self.budget };
                    let outcome = if search.steps < budget { search.advance(budget, until) } else { None };
                    match outcome {
                        None if search.steps < budget => return None,
                        None if self.any => {
                            let (miss, steps, work) = (search.take_miss(), search.steps, search.work);
                            let solver = Box::new(Solver::new(&self.problem));
                            self.phase = Phase::Any { solver, miss, steps, work };
                            continue;
                        }
                        None => Outcome::Spent,
                        Some(outcome) => outcome,
                    }
                }
                Phase::Any { solver, miss, steps, work } => {
                    let budget = self.budget - *steps;
                    match solver.advance(budget, until.saturating_sub(*work)) {
                        Standing::Found(solution) => Outcome::Found(solution),
                        Standing::Impossible(short) => {
                            let short = short.map(|short| missed(&self.problem, short));
                            Outcome::Impossible(short.or_else(|| miss.take()))
                        }
                        Standing::Open if solver.steps < budget => return None,
                        Standing::Open => Outcome::Spent,
                    }
                }
                Phase::Over(reply) => return Some(reply.clone()),
            };
            return Some(self.reply(outcome));
        }
    }

    fn reply(&self, outcome: Outcome) -> Result<Reply, AllocationError> {
        let (steps, work) = self.spent();
        let answer = match outcome {
            Outcome::Found(solution) => {
                AllocationAnswer::Allocated(render::render(&self.problem, &solution)?)
            }
            Outcome::Impossible(miss) => {
                AllocationAnswer::Impossible(Box::new(refusal::explain(&self.problem, miss.as_ref())))
            }
            Outcome::Spent => AllocationAnswer::BudgetSpent,
            Outcome::Fault(error) => return Err(*error),
        };
        Ok(Reply { answer, steps, work })
    }
}

/// What a request lacks whatever is chosen.
fn missed(problem: &Problem, shortage: solver::Shortage) -> Miss {
    let alternative = problem.requests[shortage.request].first_alternative as usize;
    let found = shortage.found.min(problem.alternatives[alternative].need.saturating_sub(1));
    Miss { alternative, found, stages: vec![StageCount { stage: shortage.stage, left: found }] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::tests::{paired, shares, sharing};
    use crate::worlds::World;

    /// The answer of an inquiry that is put down after so much work each time, and how often that was.
    fn answered(world: &World, work: u64) -> (Progress, u64) {
        let new = |question: &Question<'_>| Inquiry::new(question, &mut Expressions::default());
        let mut inquiry = world.ask(20_000, new).expect("it can be judged");
        let mut pauses = 0;
        loop {
            match inquiry.advance(work) {
                Progress::Paused => pauses += 1,
                done => return (done, pauses),
            }
        }
    }

    #[test]
    fn the_answer_does_not_depend_on_how_often_an_inquiry_is_put_down() {
        let worlds = [
            paired(3, 4),
            paired(8, 8),
            paired(9, 8),
            sharing(5, 12).claim(shares(&[5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 4]), []),
            sharing(4, 20).claim(shares(&[9, 9, 9, 9, 7, 7, 7, 5, 5, 5, 5, 3]), []),
        ];
        for world in worlds {
            let (whole, none) = answered(&world, u64::MAX);
            let (by_steps, each) = answered(&world, 1);
            let (by_some, some) = answered(&world, 7 * 1_500);
            assert_eq!((&by_steps, &by_some), (&whole, &whole));
            assert!(none == 0 && some <= each, "{some} pauses with more work at a time, {each} with less");
            let Progress::Done(Ok(reply)) = whole else { panic!("it can be judged") };
            assert_ne!(reply.answer, AllocationAnswer::BudgetSpent, "after {} steps", reply.steps);
        }
    }

    #[test]
    fn a_refusal_tells_what_other_shares_leave() {
        let world = sharing(5, 12).claim(shares(&[5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 4]), []);
        let (Progress::Done(Ok(reply)), _) = answered(&world, u64::MAX) else { panic!("it can be judged") };
        let AllocationAnswer::Impossible(refusal) = reply.answer else { panic!("too much is wanted") };
        assert_eq!(
            refusal.to_string(),
            "claim default/claim-0, request r10: wants 1 device of class gpu, can have 0: 5 published for the node, \
             0 with enough remaining capacity"
        );
    }
}
