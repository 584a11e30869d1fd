//! Disks that a pod names itself, without a claim: which of them two pods cannot use on one node, and which driver attaches them.

use std::sync::Arc;

/// A disk that a pod names itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Disk {
    /// A persistent disk of Google's cloud.
    GcePd {
        /// Its name.
        name: Arc<str>,
        /// The pod only reads it.
        read_only: bool,
    },
    /// A block store of Amazon's cloud.
    AwsEbs {
        /// Its id.
        volume: Arc<str>,
    },
    /// A disk that is reached over the network.
    Iscsi {
        /// Its qualified name.
        target: Arc<str>,
        /// The pod only reads it.
        read_only: bool,
    },
    /// A block device of a Ceph cluster.
    Rbd {
        /// The monitors of the cluster.
        monitors: Vec<Arc<str>>,
        /// The pool.
        pool: Arc<str>,
        /// The image in the pool.
        image: Arc<str>,
        /// The pod only reads it.
        read_only: bool,
    },
    /// A disk that pods may share as far as we know, and that is counted.
    Counted(Handle),
}

impl Disk {
    /// Whether two pods cannot both use it on one node.
    #[must_use]
    pub fn clashes(&self, other: &Disk) -> bool {
        match (self, other) {
            (
                Disk::GcePd { name, read_only },
                Disk::GcePd { name: other_name, read_only: other_read_only },
            ) => name == other_name && !(*read_only && *other_read_only),
            (Disk::AwsEbs { volume }, Disk::AwsEbs { volume: other }) => volume == other,
            (
                Disk::Iscsi { target, read_only },
                Disk::Iscsi { target: other_target, read_only: other_read_only },
            ) => target == other_target && !(*read_only && *other_read_only),
            (
                Disk::Rbd { monitors, pool, image, read_only },
                Disk::Rbd {
                    monitors: other_monitors,
                    pool: other_pool,
                    image: other_image,
                    read_only: other_read_only,
                },
            ) => {
                pool == other_pool
                    && image == other_image
                    && !(*read_only && *other_read_only)
                    && monitors.iter().any(|monitor| other_monitors.contains(monitor))
            }
            (
                Disk::GcePd { .. }
                | Disk::AwsEbs { .. }
                | Disk::Iscsi { .. }
                | Disk::Rbd { .. }
                | Disk::Counted(_),
                _,
            ) => false,
        }
    }

    /// What it is to the driver that attaches it.
    #[must_use]
    pub fn handle(&self) -> Option<Handle> {
        match self {
            Disk::GcePd { name, .. } => Some(Handle::gce(name, None)),
            Disk::AwsEbs { volume } => Some(Handle::aws(volume)),
            Disk::Counted(handle) => Some(handle.clone()),
            Disk::Iscsi { .. } | Disk::Rbd { .. } => None,
        }
    }
}

/// A disk of what was a part of Kubernetes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Handle {
    /// What it was.
    pub plugin: InTree,
    /// What the driver calls the disk.
    pub name: Arc<str>,
}

impl Handle {
    /// A disk of Google's cloud, in a zone if it is known.
    #[must_use]
    pub fn gce(name: &str, zone: Option<&str>) -> Handle {
        let zone = zone.unwrap_or("UNSPECIFIED");
        let name = format!("projects/UNSPECIFIED/zones/{zone}/disks/{name}");
        Handle { plugin: InTree::GcePd, name: name.into() }
    }

    /// A disk of Amazon's cloud. Its id may stand behind that of its zone.
    #[must_use]
    pub fn aws(volume: &str) -> Handle {
        let id = volume.strip_prefix("aws://").and_then(|path| path.rsplit('/').next()).unwrap_or(volume);
        Handle { plugin: InTree::AwsEbs, name: id.into() }
    }
}

/// What was a part of Kubernetes, and is a driver of its own by now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum InTree {
    /// Amazon's block store.
    AwsEbs,
    /// Google's persistent disks.
    GcePd,
    /// Those of OpenStack.
    Cinder,
    /// Microsoft's disks.
    AzureDisk,
    /// Those of Portworx.
    Portworx,
}

impl InTree {
    /// All of them.
    pub const ALL: [InTree; 5] =
        [InTree::AwsEbs, InTree::GcePd, InTree::Cinder, InTree::AzureDisk, InTree::Portworx];

    /// The name by which classes know it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            InTree::AwsEbs => "kubernetes.io/aws-ebs",
            InTree::GcePd => "kubernetes.io/gce-pd",
            InTree::Cinder => "kubernetes.io/cinder",
            InTree::AzureDisk => "kubernetes.io/azure-disk",
            InTree::Portworx => "kubernetes.io/portworx-volume",
        }
    }

    /// The driver that it is now.
    #[must_use]
    pub const fn driver(self) -> &'static str {
        match self {
            InTree::AwsEbs => "ebs.csi.aws.com",
            InTree::GcePd => "pd.csi.storage.gke.io",
            InTree::Cinder => "cinder.csi.openstack.org",
            InTree::AzureDisk => "disk.csi.azure.com",
            InTree::Portworx => "pxd.portworx.com",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<InTree> {
        InTree::ALL.into_iter().find(|one| one.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gce(name: &str, read_only: bool) -> Disk {
        Disk::GcePd { name: name.into(), read_only }
    }

    fn iscsi(target: &str, read_only: bool) -> Disk {
        Disk::Iscsi { target: target.into(), read_only }
    }

    fn rbd(monitors: &[&str], image: &str, read_only: bool) -> Disk {
        let monitors = monitors.iter().map(|one| Arc::from(*one)).collect();
        Disk::Rbd { monitors, pool: "rbd".into(), image: image.into(), read_only }
    }

    #[test]
    fn disks_are_shared_by_those_who_only_read_but_for_amazons() {
        let aws = |volume: &str| Disk::AwsEbs { volume: volume.into() };
        let table = [
            (gce("d", false), gce("d", true), true),
            (gce("d", true), gce("d", true), false),
            (gce("d", false), gce("e", false), false),
            (aws("v"), aws("v"), true),
            (aws("v"), aws("w"), false),
            (iscsi("iqn.a", false), iscsi("iqn.a", true), true),
            (iscsi("iqn.a", true), iscsi("iqn.a", true), false),
            (rbd(&["a", "b"], "i", false), rbd(&["b", "c"], "i", false), true),
            (rbd(&["a", "b"], "i", true), rbd(&["b"], "i", true), false),
            (rbd(&["a"], "i", false), rbd(&["c"], "i", false), false),
            (rbd(&["a"], "i", false), rbd(&["a"], "j", false), false),
            (gce("d", false), aws("d"), false),
        ];
        for (one, other, clashes) in table {
            assert_eq!(one.clashes(&other), clashes, "{one:?} {other:?}");
            assert_eq!(other.clashes(&one), clashes, "{other:?} {one:?}");
        }
    }

    #[test]
    fn a_disk_has_the_name_that_its_driver_has_for_it() {
        let aws = |id: &str| Handle::aws(id).name.to_string();
        assert_eq!([aws("vol-1"), aws("aws://zone-a/vol-1"), aws("aws:///vol-1")], ["vol-1"; 3]);
        let named = gce("d", false).handle().map(|handle| handle.name.to_string());
        assert_eq!(named.as_deref(), Some("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d"));
        assert_eq!(&*Handle::gce("d", Some("z")).name, "projects/UNSPECIFIED/zones/z/disks/d");
        assert_eq!(iscsi("iqn.a", false).handle(), None);
        assert!(InTree::ALL.into_iter().all(|one| InTree::named(one.name()) == Some(one)));
    }
}
