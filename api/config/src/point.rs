//! The points of a scheduling attempt at which plugins run.

use std::fmt;

macro_rules! points {
    ($($point:ident $name:literal: $meaning:literal;)*) => {
        /// A point at which plugins run.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Point {
            $(#[doc = $meaning] $point,)*
        }

        impl Point {
            /// Every point, in the order of the attempt.
            pub const ALL: &[Self] = &[$(Self::$point,)*];

            /// Its name in the file.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$point => $name,)*
                }
            }
        }
    };
}

points! {
    PreEnqueue "preEnqueue": "May a pod enter the queue?";
    QueueSort "queueSort": "Which pod comes first?";
    PreFilter "preFilter": "Preparation, and reasons to refuse that hold for all nodes.";
    Filter "filter": "Can the pod run on the node?";
    PostFilter "postFilter": "What can be done when no node will do?";
    PreScore "preScore": "Preparation of the ranking.";
    Score "score": "How good is the node?";
    Reserve "reserve": "Takes what the pod will use, and gives it back.";
    Permit "permit": "May the pod be bound now, later or not at all?";
    PreBind "preBind": "What must be done before the pod is bound.";
    Bind "bind": "Binds the pod.";
    PostBind "postBind": "Learns that the pod is bound.";
    PlacementGenerate "placementGenerate": "Where could a group go?";
    PlacementScore "placementScore": "How good is a place for a group?";
    PodGroupPostFilter "podGroupPostFilter": "What can be done when there is no place for a group?";
}

impl fmt::Display for Point {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.name())
    }
}
