//! While compatibility groups are off, a counter set that is held with groups takes nobody in; any other set does.

use crate::scene::{Scene, scene};
use gates::Gate;
use objects::supercargo::noted_groups;

/// What was done, and all that the checker must say.
type Row = (&'static str, fn(&mut Scene), &'static [&'static str]);

const CLOSED: &[&str] = &[
    "part.example.com/mig/bare-0 draws from g0 beside devices with compatibility groups, while these are off",
];
const APART: &[&str] = &[
    "part.example.com/mig: the devices that draw from g0 have no compatibility group in common: bare-0, mig-0",
];

/// The claim `train` gets a device without groups, on the set that `part-user` holds with groups.
fn beside_groups() -> Scene {
    let mut scene = scene();
    scene.gates = scene.gates.with(Gate::DRADeviceCompatibilityGroups, false);
    let part = scene.result("train", 2);
    part.device = "bare-0".into();
    part.compatibility_groups.clear();
    scene
}

/// Others have a share of that device, which they got with these groups.
fn share(scene: &mut Scene, groups: &[&str]) {
    scene.device("parts", "bare-0").allow_multiple_allocations = Some(true);
    scene.result("train", 2).share_id = Some("share-7".into());
    let mut other = scene.holders["part-user"].clone();
    other.metadata.name = "share-user".into();
    scene.holders.insert("share-user".into(), other);
    let held = scene.held("share-user");
    (held.device, held.share_id) = ("bare-0".into(), Some("share-8".into()));
    held.compatibility_groups.clear();
    if !groups.is_empty() {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        held.compatibility_groups.insert("g0".into(), groups);
    }
}

/// The server dropped what the result said, and the slice says nothing either.
fn noted_on_claim(scene: &mut Scene) {
    let held = scene.held("part-user").clone();
    noted_groups::note(scene.holders.get_mut("part-user").unwrap(), &[held]);
    scene.held("part-user").compatibility_groups.clear();
    scene.device("parts", "mig-0").consumes_counters[0].compatibility_groups.clear();
}

#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("a set that is held with groups", |_| {}, CLOSED),
    ("a set that a device holds which is not published any more", |s| s.held("part-user").device = "mig-9".into(), CLOSED),
    ("a set that a device holds which declares no groups any more", |s| s.device("parts", "mig-0").consumes_counters[0].compatibility_groups.clear(), CLOSED),
    ("a set that is held with groups that are noted on the claim", noted_on_claim, CLOSED),
    ("a set that a device holds whose groups nobody noted", |s| s.held("part-user").compatibility_groups.clear(), CLOSED),
    ("a set that is held without groups", |s| {
        s.held("part-user").compatibility_groups.clear();
        s.device("parts", "mig-0").consumes_counters[0].compatibility_groups.clear();
    }, &[]),
    ("a set for which an empty list was noted", |s| {
        let groups = s.held("part-user").compatibility_groups.remove("g0").unwrap();
        s.held("part-user").compatibility_groups = [("g0".into(), Vec::new()), ("g1".into(), groups)].into();
    }, &[]),
    ("a set that nobody holds", |s| { s.holders.remove("part-user"); }, &[]),
    ("another set that is held with groups", |s| {
        let groups = s.held("part-user").compatibility_groups.remove("g0").unwrap();
        s.held("part-user").compatibility_groups.insert("g1".into(), groups);
    }, &[]),
    ("a set of this name in another pool", |s| s.held("part-user").pool = "mig-2".into(), &[]),
    ("admin access to a device with groups", |s| s.held("part-user").admin_access = Some(true), &[]),
    ("groups that are read from slices, which nobody reads while they are off", |s| s.groups = invariants::GroupsFrom::Slices, &[]),
    ("groups that are on", |s| s.gates = s.gates.with(Gate::DRADeviceCompatibilityGroups, true), APART),
    ("a further share of a device that is there already", |s| share(s, &[]), &[]),
    ("a further share of a device that had groups", |s| share(s, &["mig"]), CLOSED),
];

#[test]
fn a_set_that_is_held_with_groups_is_closed_while_they_are_off_and_no_other_is() {
    for (what, change, expected) in ROWS {
        let mut changed = beside_groups();
        change(&mut changed);
        let violations = changed.violations();
        assert_eq!(violations.iter().map(ToString::to_string).collect::<Vec<_>>(), *expected, "{what}");
    }
}
