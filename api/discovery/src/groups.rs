//! The groups and their versions, in the order in which clients are to prefer them.

use schema::{Kind, table};

/// The groups of Kubernetes in its own order: a client that finds a name in two of them takes the first. Groups that
/// are not listed come after, so that our own never hide one of Kubernetes.
const ORDER: [&str; 9] = [
    "",
    "apps",
    "events.k8s.io",
    "batch",
    "policy",
    "storage.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "resource.k8s.io",
];

/// A group with its versions, the preferred one first.
pub(crate) struct Group {
    pub(crate) name: &'static str,
    pub(crate) versions: Vec<&'static str>,
}

/// All groups but the core group.
pub(crate) fn named_groups() -> Vec<Group> {
    let mut names: Vec<&'static str> = resources().map(Kind::group).filter(|name| !name.is_empty()).collect();
    names.sort_by_key(|name| (ORDER.iter().position(|each| each == name).unwrap_or(ORDER.len()), *name));
    names.dedup();
    names.into_iter().map(|name| Group { name, versions: versions(name) }).collect()
}

/// The versions of a group, the preferred one first; none if the group is not served.
pub(crate) fn versions(group: &str) -> Vec<&'static str> {
    let mut versions: Vec<&'static str> =
        resources().filter(|kind| kind.group() == group).map(Kind::version).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(rank(version)));
    versions.dedup();
    versions
}

/// The kinds that are resources of their own, and not only bodies of subresources.
pub(crate) fn resources() -> impl Iterator<Item = &'static Kind> {
    table().kinds().iter().filter(|kind| !kind.plural.is_empty())
}

/// How mature a version is, and how new: `v1` before `v1beta2` before `v1beta1` before `v1alpha3`.
fn rank(version: &str) -> (u8, u32, u32) {
    let number = |text: &str| text.parse::<u32>().unwrap_or(0);
    let rest = version.strip_prefix('v').unwrap_or(version);
    if let Some((major, minor)) = rest.split_once("beta") {
        (1, number(major), number(minor))
    } else if let Some((major, minor)) = rest.split_once("alpha") {
        (0, number(major), number(minor))
    } else {
        (2, number(rest), 0)
    }
}

#[cfg(test)]
mod tests {
    use super::{named_groups, versions};

    #[test]
    fn mature_and_new_versions_come_first() {
        assert_eq!(versions("resource.k8s.io"), ["v1", "v1beta2", "v1beta1", "v1alpha3"]);
        assert_eq!(versions("scheduling.k8s.io"), ["v1", "v1beta1", "v1alpha3"]);
        assert_eq!(versions(""), ["v1"]);
        assert!(versions("nope").is_empty());
    }

    #[test]
    fn our_own_group_comes_last() {
        let names: Vec<&str> = named_groups().iter().map(|group| group.name).collect();
        assert_eq!(names.first(), Some(&"apps"));
        assert_eq!(names.last(), Some(&"supercargo.dev"));
    }
}
