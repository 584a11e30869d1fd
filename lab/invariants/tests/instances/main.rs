//! Small random instances: what trying everything finds is valid, and every rule decides some of them.

use gates::Gates;
use invariants::{Evidence, GroupsFrom, Made, Possibility, check_allocations, check_state, search};
use objects::resource::claim::ResourceClaim;
use objects::resource::slice::Device;
use testkit::Instance;

const SEEDS: u64 = 1000;

fn evidence(instance: &Instance) -> Evidence<'_> {
    Evidence {
        gates: instance.gates,
        slices: &instance.slices,
        classes: &instance.classes,
        claims: &instance.holders,
        groups: GroupsFrom::Results,
    }
}

fn answer(instance: &Instance) -> Possibility {
    let claims: Vec<_> = instance.claims.iter().collect();
    search(&evidence(instance), &instance.node, &claims, 10_000)
}

#[test]
fn what_is_held_at_first_is_valid() {
    for seed in 0..SEEDS {
        let instance = Instance::seeded(seed);
        let mut evidence = evidence(&instance);
        // A feature that is off now does not make what was allocated earlier invalid.
        evidence.gates = Gates::all_on();
        assert_eq!(check_state(&evidence, None), [], "seed {seed}");
    }
}

#[test]
fn trying_everything_ends_and_finds_valid_allocations() {
    let mut possible = 0;
    for seed in 0..SEEDS {
        let instance = Instance::seeded(seed);
        match answer(&instance) {
            Possibility::Unfinished => panic!("seed {seed} is too large"),
            Possibility::Impossible => {}
            Possibility::Possible(allocations) => {
                possible += 1;
                let made = instance.claims.iter().zip(&allocations);
                let made: Vec<_> = made.map(|(claim, allocation)| Made { claim, allocation }).collect();
                let violations = check_allocations(&evidence(&instance), &instance.node, &made);
                assert_eq!(violations, [], "seed {seed}");
            }
        }
    }
    assert!((SEEDS / 3..SEEDS * 2 / 3).contains(&possible), "{possible} of {SEEDS} are possible");
}

fn devices(instance: &mut Instance) -> impl Iterator<Item = &mut Device> {
    instance.slices.iter_mut().flat_map(|slice| slice.spec.devices.iter_mut().flatten())
}

/// Takes away what a rule is about.
type Relief = fn(&mut Instance);

#[rustfmt::skip]
const RELIEFS: [(&str, Relief); 16] = [
    ("holders", |instance| instance.holders.clear()),
    ("counters", |instance| devices(instance).for_each(|device| {
        device.consumes_counters.iter_mut().for_each(|one| one.counters.clear());
    })),
    ("groups", |instance| {
        devices(instance).for_each(|device| {
            device.consumes_counters.iter_mut().for_each(|one| one.compatibility_groups.clear());
        });
        held(instance).for_each(|result| result.compatibility_groups.clear());
    }),
    ("taints", |instance| devices(instance).for_each(|device| device.taints.clear())),
    ("capacity", |instance| devices(instance).for_each(|device| device.capacity.clear())),
    ("policies", |instance| devices(instance).for_each(|device| {
        device.capacity.values_mut().for_each(|capacity| capacity.request_policy = None);
    })),
    ("sharing", |instance| devices(instance).for_each(|device| device.allow_multiple_allocations = None)),
    ("constraints", |instance| claims(instance).for_each(|claim| claim.spec.devices.constraints.clear())),
    ("binding conditions", |instance| devices(instance).for_each(|device| device.binding_conditions.clear())),
    ("admin access", |instance| exact(instance).for_each(|one| one.admin_access = None)),
    ("selectors", |instance| exact(instance).for_each(|one| one.selectors.clear())),
    ("lists", |instance| devices(instance).for_each(|device| {
        device.attributes.retain(|_, attribute| attribute.ints.is_none());
    })),
    ("derived attributes", |instance| exact(instance).for_each(|one| one.derived_attributes.clear())),
    ("second alternatives", |instance| claims(instance).for_each(|claim| {
        claim.spec.devices.requests.iter_mut().for_each(|one| one.first_available.truncate(1));
    })),
    ("skipped operations", |instance| {
        instance.slices.iter_mut().for_each(|slice| slice.spec.skip_node_operations.clear());
    }),
    ("the number of slices", |instance| instance.slices.iter_mut().for_each(|slice| {
        slice.spec.pool.resource_slice_count = 1;
    })),
];

fn claims(instance: &mut Instance) -> impl Iterator<Item = &mut ResourceClaim> {
    instance.claims.iter_mut()
}

fn exact(instance: &mut Instance) -> impl Iterator<Item = &mut objects::resource::claim::ExactDeviceRequest> {
    let requests = instance.claims.iter_mut().flat_map(|claim| &mut claim.spec.devices.requests);
    requests.filter_map(|request| request.exactly.as_mut())
}

fn held(
    instance: &mut Instance,
) -> impl Iterator<Item = &mut objects::resource::allocation::DeviceRequestAllocationResult> {
    let allocations = instance.holders.iter_mut().filter_map(|claim| claim.status.allocation.as_mut());
    allocations.flat_map(|allocation| &mut allocation.devices.results)
}

#[test]
fn every_rule_decides_some_instances() {
    let is_possible = |instance: &Instance| matches!(answer(instance), Possibility::Possible(_));
    let before: Vec<(Instance, bool)> = (0..SEEDS)
        .map(|seed| {
            let instance = Instance::seeded(seed);
            let possible = is_possible(&instance);
            (instance, possible)
        })
        .collect();
    let mut seldom = Vec::new();
    for (what, relieve) in RELIEFS {
        let decides = |(instance, possible): &&(Instance, bool)| {
            let mut relieved = instance.clone();
            relieve(&mut relieved);
            is_possible(&relieved) != *possible
        };
        let decided = before.iter().filter(decides).count();
        println!("{what}: {decided}");
        if decided < 2 {
            seldom.push((what, decided));
        }
    }
    assert_eq!(seldom, []);
}
