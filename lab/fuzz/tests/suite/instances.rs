//! The instances of allocation that tests are made of could come from a real cluster.

use fuzz::admission::create;
use gates::Gates;
use objects::Object;
use schema::table;
use testkit::Instance;

fn refusal<T: Object>(object: &T) -> Option<String> {
    let is_same = |kind: &&schema::Kind| kind.kind == T::KIND && kind.api_version == T::API_VERSION;
    let kind = table().kinds().iter().find(is_same).expect("the kind is served");
    create(kind, object.write_value(), Gates::all_on()).err().map(|error| format!("{error:?}"))
}

#[test]
fn admission_lets_in_every_object_of_an_instance() {
    for seed in 0..300 {
        let instance = Instance::seeded(seed);
        let refusals = instance.slices.iter().filter_map(refusal);
        let refusals = refusals.chain(instance.classes.iter().filter_map(refusal));
        let refusals = refusals.chain(instance.claims.iter().filter_map(refusal));
        assert_eq!(refusals.collect::<Vec<_>>(), Vec::<String>::new(), "seed {seed}");
    }
}
