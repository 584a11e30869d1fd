//! What happens while controllers work, told to whoever wants to know: logs, metrics, a live view.

use std::time::Duration;

/// Hears what happens. It is called on the controllers' loop, so it must be quick.
pub trait Listener: Send + Sync {
    /// Something happened.
    fn hear(&self, notice: &Notice<'_>);
}

/// Hears nothing.
impl Listener for () {
    fn hear(&self, _: &Notice<'_>) {}
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Notice<'a> {
    /// Something cannot be heard or read; it goes on by itself.
    Trouble {
        /// What went wrong.
        why: &'a str,
    },
    /// A controller could not do something.
    Failed {
        /// The controller.
        controller: &'static str,
        /// What it was about.
        subject: &'a str,
        /// What went wrong.
        why: &'a str,
        /// When it is tried again; never, if only a change can help.
        retry_in: Option<Duration>,
    },
    /// A controller has something to look at.
    Added {
        /// The controller.
        controller: &'static str,
    },
    /// A controller looks at something again that was not done.
    Retried {
        /// The controller.
        controller: &'static str,
    },
    /// A controller is done with something.
    Worked {
        /// The controller.
        controller: &'static str,
        /// How long it took.
        took: Duration,
    },
    /// How much a controller has to do; told when it changes.
    Waiting {
        /// The controller.
        controller: &'static str,
        /// How many objects wait to be looked at.
        depth: usize,
    },
}
