//! Kinds without rules of their own.

use objects::scheduling;

use crate::kind::Admit;

impl Admit for scheduling::pod_group::PodGroup {}
impl Admit for scheduling::workload::Workload {}
impl Admit for scheduling::composite_pod_group::CompositePodGroup {}
