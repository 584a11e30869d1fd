//! Runs a scenario step by step, from what is given to the last expectation.

use std::collections::BTreeMap;

use allocation::Expressions;
use serde_json::Value;

use crate::allocate::{Decision, decide};
use crate::difference;
use crate::document::{Expected, Gathered, Located, Scenario, Step, parse_gates};
use crate::failure::{Failure, Fault};
use crate::form::Settings;
use crate::negotiation::Drivers;
use crate::schedule::Scheduler;
use crate::world::{NotAdmitted, World};

/// More rounds than any negotiation needs.
const ROUNDS_MAX: usize = 100;

/// Runs a scenario to its end.
///
/// # Errors
/// The first thing that is not as the scenario says, or that the checker finds wrong.
pub fn run(scenario: &Scenario) -> Result<(), Failure> {
    let failure = |line: u64, step: Option<(usize, String)>, fault: Fault, what: String| Failure {
        file: scenario.file.clone(),
        line,
        scenario: Some(scenario.title.clone()),
        step,
        fault,
        what,
    };
    let mut world = World::default();
    for Located { line, value } in scenario.given.iter() {
        let mistaken = |error| failure(*line, None, Fault::Scenario, format!("given: {error:#}"));
        world.create(value).map_err(mistaken)?;
    }
    let settings = scenario.gates.clone();
    let drivers = Drivers::new(&scenario.drivers);
    let mut run = Run { scenario, world, drivers, settings, expressions: Expressions::default() };
    for (at, Located { line, value }) in scenario.steps.iter().enumerate() {
        let failure = |fault, what| failure(*line, Some((at + 1, value.told())), fault, what);
        let differences = run.step(value).map_err(|error| failure(Fault::Scenario, format!("{error:#}")))?;
        if !differences.is_empty() {
            return Err(failure(Fault::Decision, differences.join("\n")));
        }
    }
    Ok(())
}

struct Run<'s> {
    scenario: &'s Scenario,
    world: World,
    drivers: Drivers,
    settings: Settings,
    /// Kept from step to step, as a scheduler keeps them, so that a slice that changed is seen to have changed.
    expressions: Expressions,
}

impl Run<'_> {
    /// Takes a step, and says what is otherwise than expected.
    fn step(&mut self, step: &Step) -> anyhow::Result<Vec<String>> {
        match step {
            Step::Allocate { claims, node, expected } => return self.allocate(claims, node, expected),
            Step::Schedule { pod, expected, scores, writes } => {
                let scheduler = self.scheduler()?;
                let mut lines = scheduler.scores(&self.world, pod, scores)?;
                lines.extend(scheduler.place(&mut self.world, pod, expected, *writes)?);
                return Ok(lines);
            }
            Step::Together { pods, expected } => {
                return self.scheduler()?.gather(&mut self.world, pods, expected);
            }
            Step::Seats { seats, refused } => {
                return self.scheduler()?.seat(&mut self.world, seats, refused);
            }
            Step::Driver { name, turn } => {
                return self.drivers.act(&mut self.world, name, turn, parse_gates(&self.settings)?);
            }
            Step::Negotiate { pods, drivers, expected } => {
                return self.negotiate(pods, drivers.as_deref(), expected);
            }
            Step::Controllers { who } => {
                return self.drivers.take_care(&mut self.world, who, parse_gates(&self.settings)?);
            }
            Step::Start { pod, refused } => return self.world.start(pod, refused),
            Step::Release { claim } => {
                anyhow::ensure!(
                    self.world.claim(claim)?.status.allocation.is_some(),
                    "it holds nothing that could be released"
                );
                self.world.store_allocation(claim, Value::Null)?;
            }
            Step::Create { manifest, refused } => {
                return self.admitted(refused, |world| world.create(manifest));
            }
            Step::Replace { manifest, refused } => {
                return self.admitted(refused, |world| world.replace(manifest));
            }
            Step::Patch { object, with, refused } => {
                return self.admitted(refused, |world| world.patch(object, with));
            }
            Step::Object { object, shows } => {
                let found = self.world.object(object)?;
                let Some(found) = found else { return Ok(vec![format!("{object} is not there")]) };
                return Ok(difference::of_parts(object, shows, found));
            }
            Step::Gone { object } => {
                let found = self.world.object(object)?;
                return Ok(found.map(|_| format!("{object} is still there")).into_iter().collect());
            }
            Step::Delete { object } => self.world.delete(object)?,
            Step::Gates { settings } => {
                self.settings.extend(settings.clone());
                parse_gates(&self.settings)?;
            }
            Step::Report { claim, says } => self.world.report_devices(claim, says)?,
            Step::Status { claim, shows } => {
                return Ok(difference::of_parts("status", shows, &self.world.status(claim)?));
            }
        }
        Ok(Vec::new())
    }

    fn scheduler(&self) -> anyhow::Result<Scheduler> {
        Scheduler::new(&self.scenario.configuration, parse_gates(&self.settings)?)
    }

    /// Writes something that the API takes, or refuses with this sentence and leaves everything as it was.
    fn admitted(
        &mut self,
        refused: &[String],
        write: impl FnOnce(&mut World) -> anyhow::Result<()>,
    ) -> anyhow::Result<Vec<String>> {
        let before = self.world.clone();
        let done = write(&mut self.world);
        if refused.is_empty() {
            return done.map(|()| Vec::new());
        }
        self.world = before;
        match done {
            Ok(()) => {
                Ok(vec![format!("expected refused: {}", refused.join(" … ")), "found    taken".to_owned()])
            }
            Err(error) => match error.downcast::<NotAdmitted>() {
                Ok(why) => Ok(difference::of_sentence(refused, &why.to_string())),
                Err(error) => Err(error),
            },
        }
    }

    /// Gives everybody a turn after the other until all pods have a node, or nobody does anything any more.
    fn negotiate(
        &mut self,
        pods: &[String],
        drivers: Option<&[String]>,
        expected: &Gathered,
    ) -> anyhow::Result<Vec<String>> {
        let (scheduler, gates) = (self.scheduler()?, parse_gates(&self.settings)?);
        let mut waiting = pods.to_vec();
        let mut outcomes = BTreeMap::new();
        for _ in 0..ROUNDS_MAX {
            let before = self.world.contents();
            let (found, _) = scheduler.let_in(&mut self.world, &waiting, None)?;
            outcomes.extend(waiting.drain(..).zip(found));
            self.drivers.act_all(&mut self.world, drivers, gates)?;
            waiting.extend(pods.iter().filter(|pod| outcomes[*pod].node.is_none()).cloned());
            if waiting.is_empty() || self.world.contents() == before {
                let outcomes: Vec<_> = pods.iter().filter_map(|pod| outcomes.remove(pod)).collect();
                return Ok(Scheduler::differences(pods, &outcomes, expected));
            }
        }
        Ok(vec![format!("it is negotiated about {} on and on", pods.join(", "))])
    }

    fn allocate(
        &mut self,
        claims: &[String],
        node: &str,
        expected: &Expected,
    ) -> anyhow::Result<Vec<String>> {
        let gates = parse_gates(&self.settings)?;
        let order = self.scenario.order;
        let decision = decide(&mut self.world, &mut self.expressions, claims, node, gates, order)?;
        Ok(match (expected, decision) {
            (Expected::Gives(expected), Decision::Given(results)) => {
                difference::of_devices(expected, &results)
            }
            (Expected::Refused(fragments), Decision::Refused(sentence)) => {
                difference::of_sentence(fragments, &sentence)
            }
            (_, Decision::Disputed(objections)) => objections,
            (Expected::Gives(_), Decision::Refused(sentence)) => {
                vec!["expected devices".to_owned(), format!("found    refused: {sentence}")]
            }
            (Expected::Refused(fragments), Decision::Given(results)) => {
                let mut lines = vec![format!("expected refused: {}", fragments.join(" … "))];
                lines.extend(results.iter().map(|given| format!("found    {given}")));
                lines
            }
        })
    }
}
