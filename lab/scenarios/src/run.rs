//! Runs a scenario step by step, from what is given to the last expectation.

use allocation::Expressions;
use serde_json::Value;

use crate::allocate::{Decision, decide};
use crate::difference;
use crate::document::{Expected, Located, Scenario, Step, parse_gates};
use crate::failure::{Failure, Fault};
use crate::form::Settings;
use crate::schedule::Scheduler;
use crate::world::World;

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
    let mut run = Run { scenario, world, settings, expressions: Expressions::default() };
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
    settings: Settings,
    /// Kept from step to step, as a scheduler keeps them, so that a slice that changed is seen to have changed.
    expressions: Expressions,
}

impl Run<'_> {
    /// Takes a step, and says what is otherwise than expected.
    fn step(&mut self, step: &Step) -> anyhow::Result<Vec<String>> {
        match step {
            Step::Allocate { claims, node, expected } => return self.allocate(claims, node, expected),
            Step::Schedule { pod, expected, scores } => {
                let gates = parse_gates(&self.settings)?;
                let scheduler = Scheduler::new(&self.scenario.configuration, gates)?;
                let mut lines = scheduler.scores(&self.world, pod, scores)?;
                lines.extend(scheduler.place(&mut self.world, pod, expected)?);
                return Ok(lines);
            }
            Step::Together { pods, expected } => {
                let gates = parse_gates(&self.settings)?;
                let scheduler = Scheduler::new(&self.scenario.configuration, gates)?;
                return scheduler.gather(&mut self.world, pods, expected);
            }
            Step::Seats { seats, refused } => {
                let scheduler = Scheduler::new(&self.scenario.configuration, parse_gates(&self.settings)?)?;
                return scheduler.seat(&mut self.world, seats, refused);
            }
            Step::Release { claim } => {
                anyhow::ensure!(
                    self.world.claim(claim)?.status.allocation.is_some(),
                    "it holds nothing that could be released"
                );
                self.world.store_allocation(claim, Value::Null)?;
            }
            Step::Create { manifest } => self.world.create(manifest)?,
            Step::Replace { manifest } => self.world.replace(manifest)?,
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
