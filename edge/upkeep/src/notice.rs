//! What happens while controllers work, told to whoever wants to know: logs, metrics, a live view.

use std::time::Duration;

pub use controllers::evictions::Evictor;
pub use controllers::pod_garbage::Reason;

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
    /// A claim was made from a template, or could not be made.
    ClaimMade {
        /// It was made.
        is_made: bool,
        /// It asks for devices that others use.
        admin_access: bool,
        /// The API group of what it was made for.
        owner_group: &'a str,
        /// The kind of what it was made for.
        owner_kind: &'a str,
    },
    /// How much a controller has to do; told when it changes.
    Waiting {
        /// The controller.
        controller: &'static str,
        /// How many objects wait to be looked at.
        depth: usize,
    },
    /// A pod was deleted because of a taint.
    Evicted {
        /// Whose taint.
        evictor: Evictor,
        /// How long after its time.
        late: Duration,
    },
    /// A pod was removed that nobody would have ended, or could not be.
    Removed {
        /// The pod's namespace.
        namespace: &'a str,
        /// Why.
        reason: Reason,
        /// It is gone.
        done: bool,
    },
}
