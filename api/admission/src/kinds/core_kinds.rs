//! Kinds without rules of their own.

use objects::{apps, batch, coordination, core, events, policy, scheduling, storage};

use crate::kind::Admit;

impl Admit for core::pod::Pod {}
impl Admit for core::node::Node {}
impl Admit for core::event::Event {}
impl Admit for core::kinds::Namespace {}
impl Admit for core::kinds::PersistentVolumeClaim {}
impl Admit for core::kinds::PersistentVolume {}
impl Admit for core::kinds::Service {}
impl Admit for core::kinds::ServiceAccount {}
impl Admit for core::kinds::Secret {}
impl Admit for core::kinds::ConfigMap {}
impl Admit for core::kinds::ReplicationController {}
impl Admit for core::kinds::Binding {}
impl Admit for events::Event {}
impl Admit for coordination::Lease {}
impl Admit for policy::PodDisruptionBudget {}
impl Admit for policy::Eviction {}
impl Admit for storage::StorageClass {}
impl Admit for storage::CSINode {}
impl Admit for storage::CSIDriver {}
impl Admit for storage::CSIStorageCapacity {}
impl Admit for apps::ReplicaSet {}
impl Admit for apps::StatefulSet {}
impl Admit for batch::Job {}
impl Admit for scheduling::priority_class::PriorityClass {}
