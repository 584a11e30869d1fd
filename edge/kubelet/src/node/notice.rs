//! What a node tells of itself while it runs.

use std::time::Duration;

/// Hears what happens on a node.
pub trait Listener: Send + Sync {
    /// Something happened. Whoever hears it must not wait for anything.
    fn hear(&self, notice: &Notice<'_>);
}

/// Hears nothing.
impl Listener for () {
    fn hear(&self, _: &Notice<'_>) {}
}

/// What is done about the claims of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operation {
    /// They are made ready.
    Prepare,
    /// They are taken back.
    Unprepare,
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Notice<'a> {
    /// The loop is alive; told each second.
    Beat,
    /// The pods of the node are known, and it begins.
    Ready,
    /// Something went wrong, and is tried again.
    Trouble {
        /// What went wrong.
        why: &'a str,
    },
    /// All claims of a pod were prepared or unprepared, or one was not.
    Operated {
        /// Which of the two.
        operation: Operation,
        /// One was not.
        is_error: bool,
        /// How long it took.
        took: Duration,
    },
    /// A driver was called.
    Called {
        /// The driver.
        driver: &'a str,
        /// The method, as gRPC names it.
        method: &'a str,
        /// The answer's code, as gRPC names it.
        code: &'a str,
        /// How long it took.
        took: Duration,
    },
    /// A driver does without a call about a claim.
    Skipped {
        /// The driver.
        driver: &'a str,
        /// What would have been called.
        operation: Operation,
    },
    /// How many claims are prepared now.
    InUse {
        /// The driver, or nothing for all claims of whatever driver.
        driver: Option<&'a str>,
        /// How many.
        claims: usize,
    },
}
