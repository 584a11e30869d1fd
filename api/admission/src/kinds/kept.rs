//! Kinds that are kept as they are: who writes them decides what is in them.

use objects::kept::{
    CronJob, DaemonSet, Deployment, Endpoints, HorizontalPodAutoscaler, Ingress, LeaseCandidate,
};

use objects::Object;
use serde::Serialize;

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
                // The stored spec is in its written form; what was sent need not be.
                let with_spec = |other: &Self| Self { spec: other.spec.clone(), ..old.clone() };
                same(Self::API_VERSION, Self::KIND, &with_spec(self), old)
            }
        }
    )*};
}
kept!(CronJob, DaemonSet, Deployment, HorizontalPodAutoscaler, Ingress, LeaseCandidate);

impl Admit for Endpoints {}

fn same<T: PartialEq + Serialize>(api_version: &str, kind: &str, new: &T, old: &T) -> bool {
    let structure =
        schema::table().kind(api_version, kind).map(|kind| schema::table().get(kind.object).name.as_str());
    crate::same::same(structure.unwrap_or_default(), new, old)
}
