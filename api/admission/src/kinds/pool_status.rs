//! Questions about how full pools are.

use gates::Gate;
use objects::resource::pool_status::ResourcePoolStatusRequest;
use schema::Path;

use crate::cause::Causes;
use crate::conditions;
use crate::kind::{Admit, Context, Gated, strip};
use crate::kinds::device_names::{driver_name, fully_qualified_name, pool_name};

const LIMIT_MAX: i32 = 1000;
const CONDITIONS_MAX: usize = 10;
const POOLS_MAX: usize = 1000;

impl Admit for ResourcePoolStatusRequest {
    const UNCONDITIONAL_UPDATE: bool = false;

    fn prepare_create(&mut self, context: &Context<'_>) {
        self.status = None;
        strip(GATED, self, None, context);
    }

    fn prepare_update(&mut self, old: &Self, context: &Context<'_>) {
        self.status.clone_from(&old.status);
        strip(GATED, self, Some(old), context);
    }

    fn prepare_status(&mut self, old: &Self, _context: &Context<'_>) {
        self.spec.clone_from(&old.spec);
    }

    fn validate(&self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("spec");
        driver_name(&self.spec.driver, &path.field("driver"), causes);
        if let Some(pool) = &self.spec.pool_name {
            pool_name(pool, &path.field("poolName"), causes);
        }
        if self.spec.limit.is_some_and(|limit| !(1..=LIMIT_MAX).contains(&limit)) {
            causes.invalid(&path.field("limit"), format!("must be between 1 and {LIMIT_MAX}"));
        }
        if let Some(attribute) = &self.spec.default_partition_type_attribute {
            fully_qualified_name(attribute, &path.field("defaultPartitionTypeAttribute"), causes);
        }
    }

    fn validate_update(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        causes.immutable(&Path::ROOT.field("spec"), &self.spec, &old.spec);
    }

    fn validate_status(&self, old: &Self, _context: &Context<'_>, causes: &mut Causes) {
        let path = Path::ROOT.field("status");
        if old.status.is_some() {
            causes.immutable(&path, &self.status, &old.status);
            return;
        }
        let Some(status) = &self.status else { return };
        let list = path.field("conditions");
        if status.conditions.len() > CONDITIONS_MAX {
            causes.too_many(&list, status.conditions.len(), CONDITIONS_MAX);
        }
        conditions::validate(&status.conditions, &list, causes);
        if status.pools.len() > POOLS_MAX {
            causes.too_many(&path.field("pools"), status.pools.len(), POOLS_MAX);
        }
    }
}

const GATED: &[Gated<ResourcePoolStatusRequest>] = &[Gated {
    gates: &[Gate::DRAPartitionableDevicesType],
    in_use: |request| request.spec.default_partition_type_attribute.is_some(),
    clear: |request| request.spec.default_partition_type_attribute = None,
}];
