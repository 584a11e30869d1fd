//! Questions about how full pools are.

use crate::meta::{Condition, ObjectMeta};
use crate::wire::Raw;
use crate::wire::wire;

wire! {
    /// A question about the pools of a driver.
    pub object ResourcePoolStatusRequest of "resource.k8s.io/v1alpha3" {
        metadata: ObjectMeta = "metadata",
        spec: ResourcePoolStatusRequestSpec = "spec",
        status: Option<ResourcePoolStatusRequestStatus> = "status",
    }
}

wire! {
    /// The question.
    pub struct ResourcePoolStatusRequestSpec {
        default_partition_type_attribute: Option<String> = "defaultPartitionTypeAttribute",
        driver: String = "driver",
        limit: Option<i32> = "limit",
        pool_name: Option<String> = "poolName",
    }
}

wire! {
    /// The answer.
    pub struct ResourcePoolStatusRequestStatus {
        conditions: Vec<Condition> = "conditions",
        pool_count: Option<i32> = "poolCount",
        pools: Vec<PoolStatus> = "pools",
    }
}

wire! {
    /// How full one pool is.
    pub struct PoolStatus {
        allocated_devices: Option<i32> = "allocatedDevices",
        available_devices: Option<i32> = "availableDevices",
        driver: String = "driver",
        generation: i64 = "generation",
        node_name: Option<String> = "nodeName",
        partition_summary: Vec<Raw> = "partitionSummary",
        pool_name: String = "poolName",
        resource_slice_count: Option<i32> = "resourceSliceCount",
        shareable_summary: Option<Raw> = "shareableSummary",
        total_devices: Option<i32> = "totalDevices",
        unavailable_devices: Option<i32> = "unavailableDevices",
        validation_error: Option<String> = "validationError",
    }
}
