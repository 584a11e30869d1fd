//! Drivers that give devices themselves, and the controllers of the cluster: what a scenario says of them, and their turns.
//!
//! Invariant: whoever has its turn begins anew, and knows nothing but the objects. How much a driver has is the only thing
//! that is kept beside them.

use std::collections::BTreeMap;

use anyhow::Context as _;
use gates::Gates;
use serde_json::Value;
use simulator::world::{Acted, Caretaker, Lender, Mood, PlayedCluster};

use crate::difference;
use crate::document::{Step, gathered};
use crate::form::{DriverForm, OneOrMany, RoomForm, StepForm};
use crate::world::World;

/// What a driver's controller does in its turn, and what must come of it.
#[derive(Clone, Debug)]
pub(crate) struct DriverTurn {
    /// It has so much from now on.
    room: Option<BTreeMap<String, usize>>,
    mood: Mood,
    /// How many writes there must be; it is stopped after the last.
    writes: Option<usize>,
    /// What must keep it from more.
    refused: Vec<String>,
}

/// A driver as a file describes it.
pub(crate) fn lender(name: String, form: DriverForm) -> Lender {
    let DriverForm { has, shareable, handle_bytes } = form;
    Lender { name, room: room(has), shareable, handle_bytes }
}

fn room(form: RoomForm) -> BTreeMap<String, usize> {
    match form {
        RoomForm::Everywhere(count) => BTreeMap::from([(String::new(), count)]),
        RoomForm::ByNode(room) => room,
    }
}

/// Whether a step is one of those that are read here.
pub(crate) fn is_about(form: &StepForm) -> bool {
    form.driver.is_some()
        || form.negotiate.is_some()
        || form.controllers.is_some()
        || form.start.is_some()
        || form.object.is_some()
        || form.gone.is_some()
        || form.patch.is_some()
}

/// Reads such a step.
pub(crate) fn read(form: StepForm) -> Result<Step, String> {
    if let Some(OneOrMany(pods)) = form.negotiate {
        let expected = gathered("negotiate", form.on, None, form.refused)?;
        let drivers = form.drivers.map(|OneOrMany(names)| names);
        return Ok(Step::Negotiate { pods, drivers, expected });
    }
    let refused = form.refused.map(|OneOrMany(parts)| parts).unwrap_or_default();
    if let Some(name) = form.driver {
        let mood = Mood { is_blind: form.blind.unwrap_or_default(), elsewhere: form.elsewhere };
        let room = form.has.map(room);
        return Ok(Step::Driver { name, turn: DriverTurn { room, mood, writes: form.writes, refused } });
    }
    if let Some(OneOrMany(names)) = form.controllers {
        let who = names.iter().map(|name| match name.as_str() {
            "claims" => Ok(Caretaker::Claims),
            "contexts" => Ok(Caretaker::Contexts),
            other => Err(format!("there is no controller {other}; hint: there are claims and contexts")),
        });
        return Ok(Step::Controllers { who: who.collect::<Result<_, _>>()? });
    }
    if let Some(pod) = form.start {
        return Ok(Step::Start { pod, refused });
    }
    if let Some(object) = form.object {
        let shows = form.shows.ok_or("`object` needs `shows`, with what must be in it")?;
        return Ok(Step::Object { object, shows });
    }
    if let Some(object) = form.patch {
        let with = form.with.ok_or("`patch` needs `with`, with what is to be otherwise")?;
        return Ok(Step::Patch { object, with, refused });
    }
    Ok(Step::Gone { object: form.gone.ok_or("it is none of the steps that are read here")? })
}

/// The drivers of a run.
#[derive(Debug)]
pub(crate) struct Drivers(BTreeMap<String, Lender>);

impl Drivers {
    pub fn new(described: &BTreeMap<String, Lender>) -> Drivers {
        Drivers(described.clone())
    }

    /// A driver's controller has its turn; says what is otherwise than expected.
    pub fn act(
        &mut self,
        world: &mut World,
        name: &str,
        turn: &DriverTurn,
        gates: Gates,
    ) -> anyhow::Result<Vec<String>> {
        let lender = self.0.get_mut(name);
        let lender =
            lender.with_context(|| format!("there is no driver {name}; hint: list it in `drivers`"))?;
        if let Some(room) = &turn.room {
            lender.room.clone_from(room);
        }
        let most = turn.writes.filter(|most| *most > 0);
        let acted = on_cluster(world, gates, |cluster| cluster.lend(lender, &turn.mood, most))?;
        let mut lines = match (acted.troubles.join("; "), turn.refused.as_slice()) {
            (none, []) if none.is_empty() => Vec::new(),
            (troubles, []) => vec!["expected no trouble".to_owned(), format!("found    {troubles}")],
            (troubles, parts) => difference::of_sentence(parts, &troubles),
        };
        if let Some(writes) = turn.writes.filter(|writes| *writes != acted.writes) {
            lines.extend([format!("expected {writes} writes"), format!("found    {}", acted.writes)]);
        }
        Ok(lines)
    }

    /// All of these drivers and the controllers of the cluster have their turns.
    pub fn act_all(&self, world: &mut World, named: Option<&[String]>, gates: Gates) -> anyhow::Result<()> {
        for name in named.into_iter().flatten() {
            anyhow::ensure!(
                self.0.contains_key(name),
                "there is no driver {name}; hint: list it in `drivers`"
            );
        }
        on_cluster(world, gates, |cluster| {
            for lender in self.0.values().filter(|one| named.is_none_or(|named| named.contains(&one.name))) {
                // What one cannot do now it may do later.
                cluster.lend(lender, &Mood::default(), None);
            }
            cluster.take_care(Caretaker::Claims);
            cluster.take_care(Caretaker::Contexts)
        })?;
        Ok(())
    }

    /// Controllers of the cluster have their turns; says what kept them from something.
    pub fn take_care(
        &self,
        world: &mut World,
        who: &[Caretaker],
        gates: Gates,
    ) -> anyhow::Result<Vec<String>> {
        let mut lines = Vec::new();
        for who in who {
            lines.extend(on_cluster(world, gates, |cluster| cluster.take_care(*who))?.troubles);
        }
        Ok(lines)
    }
}

/// Lets somebody act in the cluster of a run, and takes over what became of it.
fn on_cluster(
    world: &mut World,
    gates: Gates,
    act: impl FnOnce(&mut PlayedCluster) -> Acted,
) -> anyhow::Result<Acted> {
    let mut cluster =
        PlayedCluster::new(world.in_order(), world.revision(), gates).map_err(anyhow::Error::msg)?;
    let before = cluster.objects();
    let acted = act(&mut cluster);
    let after = cluster.objects();
    for object in &before {
        if !after.iter().any(|left| is_same(left, object)) {
            world.forget(object)?;
        }
    }
    for object in after {
        if !before.contains(&object) {
            world.take_over(object)?;
        }
    }
    Ok(acted)
}

fn is_same(left: &Value, right: &Value) -> bool {
    let meta = |object: &Value, field: &str| object["metadata"][field].clone();
    left["kind"] == right["kind"]
        && meta(left, "namespace") == meta(right, "namespace")
        && meta(left, "name") == meta(right, "name")
}
