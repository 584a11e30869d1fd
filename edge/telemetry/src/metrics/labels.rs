//! The values that labels may have, as Kubernetes spells them.

/// A label whose values are known beforehand.
pub(super) trait Label: Copy + Sized + 'static {
    const ALL: &'static [Self];

    /// Its place among all.
    fn place(self) -> usize;

    /// What Kubernetes calls it.
    fn text(self) -> &'static str;
}

macro_rules! label {
    ($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $value:ident => $text:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$what])* $value,)*
        }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$value),*];

            fn place(self) -> usize {
                self as usize
            }

            fn text(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)*
                }
            }
        }
    };
}

label! {
    /// What came of an attempt to schedule a pod.
    Verdict {
        /// The pod has a node.
        Scheduled => "scheduled",
        /// There is none for it now.
        Unschedulable => "unschedulable",
        /// Something failed that should not.
        Error => "error",
    }
}

label! {
    /// What came of an attempt to schedule a group of pods.
    GangResult {
        /// The group has its nodes.
        Scheduled => "scheduled",
        /// There are none for it now.
        Unschedulable => "unschedulable",
        /// There will be, when others have made way.
        WaitingOnPreemption => "waiting_on_preemption",
        /// Something failed that should not.
        Error => "error",
    }
}

label! {
    /// Where pods wait.
    Queue {
        /// For their turn.
        Active => "active",
        /// For their patience to end.
        Backoff => "backoff",
        /// For something to change.
        Unschedulable => "unschedulable",
        /// For their gates to be lifted.
        Gated => "gated",
        /// For the rest of their group.
        Incomplete => "incomplete",
        /// For the turn of their group.
        Pending => "pending",
    }
}

label! {
    /// What takes its turn.
    Entity {
        /// A pod on its own.
        Pod => "pod",
        /// A group of pods.
        PodGroup => "podgroup",
    }
}

label! {
    /// Where in an attempt plugins have their say.
    Point {
        /// May the pod be queued at all?
        PreEnqueue => "PreEnqueue",
        /// Before nodes are looked at.
        PreFilter => "PreFilter",
        /// Is the node out of the question?
        Filter => "Filter",
        /// What if this pod were there?
        PreFilterExtensionAddPod => "PreFilterExtensionAddPod",
        /// What if this pod were gone?
        PreFilterExtensionRemovePod => "PreFilterExtensionRemovePod",
        /// After no node was found.
        PostFilter => "PostFilter",
        /// Before nodes are compared.
        PreScore => "PreScore",
        /// How good is the node?
        Score => "Score",
        /// Scores are brought to one scale.
        ScoreExtensionNormalize => "ScoreExtensionNormalize",
        /// What was chosen is taken.
        Reserve => "Reserve",
        /// What was taken is given back.
        Unreserve => "Unreserve",
        /// May the pod go on?
        Permit => "Permit",
        /// Is there work before the binding?
        PreBindPreFlight => "PreBindPreFlight",
        /// Work before the binding.
        PreBind => "PreBind",
        /// The binding.
        Bind => "Bind",
        /// After the binding.
        PostBind => "PostBind",
        /// Are two pods alike?
        Sign => "Sign",
        /// Where could the group go?
        PlacementGenerate => "PlacementGenerate",
        /// Can the group go there?
        PlacementFeasible => "PlacementFeasible",
        /// How good is it there?
        PlacementScore => "PlacementScore",
        /// Scores of placements are brought to one scale.
        PlacementScoreExtensionNormalize => "PlacementScoreExtensionNormalize",
        /// After no place was found for a group.
        PodGroupPostFilter => "PodGroupPostFilter",
    }
}

label! {
    /// What a plugin, or all plugins of a point, said.
    Status {
        /// Yes.
        Success => "Success",
        /// It failed.
        Error => "Error",
        /// No, unless something changes.
        Unschedulable => "Unschedulable",
        /// No, and nobody's making way would help.
        UnschedulableAndUnresolvable => "UnschedulableAndUnresolvable",
        /// Not yet.
        Wait => "Wait",
        /// Nothing to say.
        Skip => "Skip",
        /// Not until something outside the scheduler is done.
        Pending => "Pending",
    }
}

label! {
    /// For whom others make way.
    Preemptor {
        /// A pod.
        Pod => "pod",
        /// A group of pods.
        PodGroup => "podgroup",
    }
}

label! {
    /// What came of waiting for devices to be made ready.
    BindingOutcome {
        /// They are ready.
        Success => "success",
        /// They will not be.
        Failure => "failure",
        /// It took too long.
        Timeout => "timeout",
        /// It could not be told.
        Error => "error",
    }
}

#[cfg(test)]
mod tests {
    use super::{Label, Point, Status};

    #[test]
    fn every_value_stands_at_its_place() {
        assert!(Point::ALL.iter().enumerate().all(|(at, point)| point.place() == at));
        assert!(Status::ALL.iter().enumerate().all(|(at, status)| status.place() == at));
    }
}
