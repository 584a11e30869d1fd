//! Who takes part in the life of a claim, and the ways in which one of them stops in the middle of it.

use std::fmt;
use std::str::FromStr;

/// A process that may die while others go on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Component {
    /// It gives claims their devices, and pods their nodes.
    Scheduler,
    /// It makes claims from templates, and releases them.
    Controller,
    /// The agent of a node: it has claims prepared, and runs pods. Their containers outlive it.
    Node,
    /// It prepares devices on a node. What it has prepared outlives it.
    Driver,
    /// The controller of a driver that gives devices itself. What it has depends on claims alone.
    Lender,
}

impl Component {
    /// Every one.
    pub const ALL: [Component; 5] =
        [Component::Scheduler, Component::Controller, Component::Node, Component::Driver, Component::Lender];
}

impl fmt::Display for Component {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Component::Scheduler => "scheduler",
            Component::Controller => "controller",
            Component::Node => "node",
            Component::Driver => "driver",
            Component::Lender => "lender",
        })
    }
}

/// When a component stops, seen from a step that somebody takes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Moment {
    /// The step is done, and nobody has been told.
    Unanswered,
    /// The step is done, and whoever took it knows.
    Answered,
}

impl Moment {
    /// Both.
    pub const ALL: [Moment; 2] = [Moment::Unanswered, Moment::Answered];
}

/// A component dies at one step of a life, and comes back later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Crash {
    /// Who.
    pub component: Component,
    /// At which step, counted from zero.
    pub step: usize,
    /// When.
    pub moment: Moment,
}

impl fmt::Display for Crash {
    /// As it is written on the command line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = match self.moment {
            Moment::Unanswered => "unanswered",
            Moment::Answered => "answered",
        };
        write!(out, "{}@{}:{moment}", self.component, self.step)
    }
}

impl FromStr for Crash {
    type Err = String;

    fn from_str(text: &str) -> Result<Crash, String> {
        let bad = || format!("{text} is no crash, such as controller@7:unanswered");
        let (component, rest) = text.split_once('@').ok_or_else(bad)?;
        let (step, moment) = rest.split_once(':').ok_or_else(bad)?;
        let component =
            Component::ALL.into_iter().find(|one| one.to_string() == component).ok_or_else(bad)?;
        let step = step.parse().map_err(|_| bad())?;
        let moment = match moment {
            "unanswered" => Moment::Unanswered,
            "answered" => Moment::Answered,
            _ => return Err(bad()),
        };
        Ok(Crash { component, step, moment })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_is_read_as_it_is_written() {
        for component in Component::ALL {
            for moment in Moment::ALL {
                let crash = Crash { component, step: 7, moment };
                assert_eq!(crash.to_string().parse(), Ok(crash));
            }
        }
        for bad in ["", "node@7", "nobody@7:answered", "node@x:answered", "node@7:sometimes"] {
            assert!(bad.parse::<Crash>().is_err(), "{bad}");
        }
    }
}
