//! Kinds that are kept as they are: who writes them decides what is in them.

use objects::kept::{
    CronJob, DaemonSet, Deployment, Endpoints, HorizontalPodAutoscaler, Ingress, LeaseCandidate,
};

use crate::kind::{Admit, Context};

macro_rules! kept {
    ($($kind:ty),*) => {$(
        impl Admit for $kind {
            const COUNTS_GENERATIONS: bool = true;

            fn prepare_create(&mut self, _context: &Context<'_>) {
                self.status = None;
            }

            fn prepare_update(&mut self, old: &Self, _context: &Context<'_>) {
                self.status.clone_from(&old.status);
            }

            fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
                self.spec.clone_from(&old.spec);
            }

            fn same_spec(&self, old: &Self) -> bool {
                self.spec == old.spec
            }
        }
    )*};
}
kept!(CronJob, DaemonSet, Deployment, HorizontalPodAutoscaler, Ingress, LeaseCandidate);

impl Admit for Endpoints {}
