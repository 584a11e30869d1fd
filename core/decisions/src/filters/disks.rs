//! Disks that pods name themselves, which two of them cannot use on one node.

use model::pod::Shape;

/// Whether pods of two shapes cannot be on one node because of a disk.
pub(crate) fn clash(one: &Shape, other: &Shape) -> bool {
    one.disks.iter().any(|disk| other.disks.iter().any(|other| disk.clashes(other)))
}
