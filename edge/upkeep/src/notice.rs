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
    /// Another leads.
    Standby {
        /// Who, if that is known.
        leader: Option<&'a str>,
    },
    /// It is our turn: controllers start.
    Leading,
    /// The lease could not be read or written.
    ElectionTrouble {
        /// What went wrong.
        why: &'a str,
    },
    /// The loop is alive; told each second.
    Beat,
    /// A controller knows what is there, and begins.
    Ready {
        /// The controller.
        controller: &'static str,
    },
    /// The server does not have a kind, so nothing is done about it.
    NotServed {
        /// The API version that we speak.
        api_version: &'static str,
        /// The kind.
        kind: &'static str,
    },
    /// Something cannot be heard or read; it goes on by itself.
    Trouble {
        /// What went wrong.
        why: &'a str,
        /// It is tried again so soon that nobody need know; servers end watches at any time.
        is_brief: bool,
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
        /// Its queue.
        queue: &'static str,
    },
    /// A controller looks at something again that was not done.
    Retried {
        /// Its queue.
        queue: &'static str,
    },
    /// A controller is done with something.
    Worked {
        /// Its queue.
        queue: &'static str,
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
    /// A claim came, went, or is otherwise in a way that is counted.
    ClaimCounted {
        /// What it was, unless it is new.
        before: Option<ClaimState>,
        /// What it is, unless it is gone.
        after: Option<ClaimState>,
    },
    /// How much a controller has to do; told when it changes.
    Waiting {
        /// Its queue.
        queue: &'static str,
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

/// What is counted of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClaimState {
    /// It has devices.
    pub allocated: bool,
    /// It asks for devices that others use.
    pub admin_access: bool,
    /// What it was made from.
    pub source: ClaimSource,
}

/// What a claim was made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimSource {
    /// Somebody made it.
    Somebody,
    /// A template.
    Template,
    /// A scheduler made it for extended resources.
    ExtendedResource,
}
