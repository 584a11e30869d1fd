//! What a kind says of itself to admission. Each kind has a file of its own under `kinds/`.

use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use objects::{Object, Time};

use crate::cause::Causes;
use crate::names::{self, Faults};
use crate::rejection::Rejection;
use crate::surroundings::Surroundings;

/// The moment and the place of a request.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The moment of the request.
    pub now: Timestamp,
    /// Which features are on.
    pub gates: &'a Gates,
    /// Other objects.
    pub surroundings: &'a dyn Surroundings,
}

impl Context<'_> {
    /// The feature is on.
    pub(crate) fn has(&self, gate: Gate) -> bool {
        self.gates.enabled(gate)
    }

    /// The moment as objects have it.
    pub(crate) fn time(&self) -> Time {
        Time(self.now.to_seconds())
    }
}

/// The rules of one kind. The steps run in this order: `set_defaults`, `mutate`, `prepare_…`, `validate…`, `consent`.
pub(crate) trait Admit: Object + PartialEq {
    /// The form of the object's name.
    const NAME_FORM: fn(&str) -> Faults = names::dns_subdomain;
    /// An update may leave out the resource version, and then overwrites whatever is there.
    const UNCONDITIONAL_UPDATE: bool = true;
    /// The object counts the changes of its spec in `metadata.generation`.
    const COUNTS_GENERATIONS: bool = false;
    /// A change through `/status` leaves labels, annotations, finalizers and owners as they were.
    const STATUS_KEEPS_METADATA: bool = true;

    /// Sets what was left out and depends on other fields; plain defaults are in the schema table.
    fn set_defaults(&mut self, _context: &Context<'_>) {}

    /// Fills in what other objects decide, such as the value of a priority class.
    fn mutate(&mut self, _old: Option<&Self>, _context: &Context<'_>) -> Result<(), Rejection> {
        Ok(())
    }

    /// Takes out of a new object what its maker may not set, and what belongs to features that are off.
    fn prepare_create(&mut self, _context: &Context<'_>) {}

    /// The same for a change through the main resource.
    fn prepare_update(&mut self, _old: &Self, _context: &Context<'_>) {}

    /// The same for a change through `/status`: everything but the status is as it was.
    fn prepare_status(&mut self, _old: &Self, _context: &Context<'_>) {}

    /// The rules for a new object.
    fn validate(&self, _context: &Context<'_>, _causes: &mut Causes) {}

    /// The rules for a change through the main resource.
    fn validate_update(&self, _old: &Self, context: &Context<'_>, causes: &mut Causes) {
        self.validate(context, causes);
    }

    /// The rules for a change through `/status`.
    fn validate_status(&self, _old: &Self, _context: &Context<'_>, _causes: &mut Causes) {}

    /// What other objects have to say against an object whose fields are all right.
    fn consent(&self, _context: &Context<'_>) -> Result<(), Rejection> {
        Ok(())
    }

    /// The spec is the same as before, so the generation stays.
    fn same_spec(&self, _old: &Self) -> bool {
        true
    }

    /// What the maker of a new object should know although it is accepted.
    fn warnings_on_create(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the maker should know although the object is accepted.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The steps of a kind that has a spec and a status, with nothing special about either: each has a path of its own, and
/// changes of the spec are counted.
macro_rules! spec_and_status_apart {
    () => {
        const COUNTS_GENERATIONS: bool = true;

        fn prepare_create(&mut self, _context: &Context<'_>) {
            self.status = Default::default();
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
    };
}

pub(crate) use spec_and_status_apart;

/// A field that belongs to features. It is cleared when one of them is off, unless the stored object uses it already.
pub(crate) struct Gated<T> {
    /// All of them must be on.
    pub gates: &'static [Gate],
    /// The stored object uses the field.
    pub in_use: fn(&T) -> bool,
    /// Clears the field.
    pub clear: fn(&mut T),
}

/// Clears the fields whose features are off.
pub(crate) fn strip<T>(fields: &[Gated<T>], object: &mut T, old: Option<&T>, context: &Context<'_>) {
    for field in fields {
        let on = field.gates.iter().all(|gate| context.has(*gate));
        if !on && !old.is_some_and(field.in_use) {
            if (field.in_use)(object) {
                context.surroundings.dropped(field.gates);
            }
            (field.clear)(object);
        }
    }
}
