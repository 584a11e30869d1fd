//! The emulated machine room: which devices there are, where they are attached, and what is under way.
//!
//! Invariant: a device is attached to one host at most. Whoever orders it first has it, while it is on its way too.

use std::collections::BTreeMap;

use super::setup::{DeviceSetup, Setup};
use crate::resources::{Message, ROOT, Task, TaskState};

/// Everything that changes.
pub(crate) struct Floor {
    pub(crate) setup: Setup,
    pub(crate) devices: BTreeMap<String, Slot>,
    tasks: BTreeMap<u64, Task>,
    /// How many orders fail from now on, and what they say.
    pub(crate) failures: (u32, String),
    /// How often a device was attached.
    pub(crate) attachments: u64,
}

/// A device, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) chassis: String,
    pub(crate) switch: String,
    pub(crate) kind: DeviceSetup,
    pub(crate) is_healthy: bool,
    pub(crate) state: State,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Free,
    /// On its way to a host.
    Coming(String, String),
    /// Attached to a host through a port.
    There(String, String),
    /// On its way from a host.
    Going(String, String),
}

/// What an order leads to.
#[derive(Clone, Copy)]
pub(crate) enum Ordered {
    /// Nothing is left to do.
    Done,
    /// A task has begun.
    Begun(u64),
}

impl Floor {
    pub(crate) fn of(setup: Setup) -> Self {
        let mut floor = Self {
            devices: BTreeMap::new(),
            tasks: BTreeMap::new(),
            failures: (0, String::new()),
            attachments: 0,
            setup,
        };
        for chassis in floor.setup.chassis.clone() {
            for kind in &chassis.devices {
                (0..kind.count).for_each(|_| drop(floor.plug(&chassis.id, &chassis.switch, kind)));
            }
        }
        floor
    }

    /// Puts a device into a chassis, and says what it is called.
    pub(crate) fn plug(&mut self, chassis: &str, switch: &str, kind: &DeviceSetup) -> String {
        let name = |at: usize| format!("{chassis}-{}-{at}", kind.model);
        let name = (1..).map(name).find(|name| !self.devices.contains_key(name)).expect("numbers do not end");
        let (chassis, switch) = (chassis.to_owned(), switch.to_owned());
        let slot = Slot { chassis, switch, kind: kind.clone(), is_healthy: true, state: State::Free };
        self.devices.insert(name.clone(), slot);
        name
    }

    pub(crate) fn attach(&mut self, device: &str, system: &str, port: &str) -> Result<Ordered, String> {
        let slot = self.devices.get(device).ok_or_else(|| format!("there is no device {device}"))?;
        let wanted = State::Coming(system.to_owned(), port.to_owned());
        match &slot.state {
            State::There(host, _) if host == system => return Ok(Ordered::Done),
            State::Coming(host, _) if host == system => return Ok(Ordered::Begun(self.task())),
            State::Free if slot.is_healthy => {}
            State::Free => return Err(format!("device {device} is not healthy")),
            State::There(host, _) | State::Coming(host, _) | State::Going(host, _) => {
                return Err(format!("device {device} belongs to {host}"));
            }
        }
        self.has_room(&slot.switch.clone(), system, port)?;
        self.devices.get_mut(device).expect("it was there just now").state = wanted;
        Ok(Ordered::Begun(self.task()))
    }

    fn has_room(&self, switch: &str, system: &str, port: &str) -> Result<(), String> {
        let ports = self.setup.switches.iter().filter(|one| one.id == switch).flat_map(|one| &one.ports);
        let found = ports.clone().find(|one| one.id == port && one.system == system);
        let found = found.ok_or_else(|| format!("no port {port} leads from {system} to switch {switch}"))?;
        let host = self.setup.systems.iter().find(|one| one.id == system);
        let used = |is_there: &dyn Fn(&str, &str) -> bool| {
            let states = self.devices.values().filter(|slot| match &slot.state {
                State::Free => false,
                State::Coming(system, port) | State::There(system, port) | State::Going(system, port) => {
                    is_there(system, port)
                }
            });
            u32::try_from(states.count()).unwrap_or(u32::MAX)
        };
        if found.max_devices.is_some_and(|most| used(&|_, name| name == port) >= most) {
            return Err(format!("port {port} has as many devices as it can have"));
        }
        if host.and_then(|host| host.max_devices).is_some_and(|most| used(&|name, _| name == system) >= most)
        {
            return Err(format!("system {system} has as many devices as it can have"));
        }
        Ok(())
    }

    pub(crate) fn detach(&mut self, device: &str, system: &str) -> Result<Ordered, String> {
        let slot = self.devices.get_mut(device).ok_or_else(|| format!("there is no device {device}"))?;
        match slot.state.clone() {
            State::There(host, port) if host == system => slot.state = State::Going(host, port),
            State::Going(host, _) if host == system => {}
            _ => return Ok(Ordered::Done),
        }
        Ok(Ordered::Begun(self.task()))
    }

    fn task(&mut self) -> u64 {
        let number = self.tasks.keys().next_back().map_or(1, |last| last + 1);
        let path = format!("{ROOT}/TaskService/Tasks/{number}");
        self.tasks.insert(number, Task { path, task_state: TaskState::Running, messages: Vec::new() });
        number
    }

    /// What was under way has taken its time.
    pub(crate) fn finish(&mut self, number: u64, device: &str) {
        let fails = self.failures.0 > 0;
        if let Some(slot) = self.devices.get_mut(device) {
            let was = slot.state.clone();
            slot.state = match was.clone() {
                State::Coming(..) if fails => State::Free,
                State::Coming(host, port) => State::There(host, port),
                State::Going(host, port) if fails => State::There(host, port),
                State::Going(..) => State::Free,
                still => still,
            };
            if matches!((&was, &slot.state), (State::Coming(..), State::There(..))) {
                self.attachments += 1;
            }
        }
        let Some(task) = self.tasks.get_mut(&number) else { return };
        if fails {
            self.failures.0 -= 1;
            task.task_state = TaskState::Exception;
            task.messages = vec![Message { message: self.failures.1.clone() }];
        } else {
            task.task_state = TaskState::Completed;
        }
    }

    pub(crate) fn task_of(&self, number: u64) -> Option<Task> {
        self.tasks.get(&number).cloned()
    }
}
