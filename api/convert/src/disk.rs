//! Disks that a pod names itself.

use model::disk::{Disk, Handle, InTree};
use objects::core::container::Volume;

use crate::text::shared;

/// The disk of a volume, if it is of a kind that decides where the pod can go.
pub(crate) fn disk(volume: &Volume) -> Option<Disk> {
    let counted = |plugin: InTree, name: &str| Disk::Counted(Handle { plugin, name: name.into() });
    if let Some(disk) = &volume.gce_persistent_disk {
        return Some(Disk::GcePd { name: disk.pd_name.as_str().into(), read_only: disk.read_only });
    }
    if let Some(disk) = &volume.aws_elastic_block_store {
        return Some(Disk::AwsEbs { volume: disk.volume_id.as_str().into() });
    }
    if let Some(disk) = &volume.iscsi {
        return Some(Disk::Iscsi { target: disk.iqn.as_str().into(), read_only: disk.read_only });
    }
    if let Some(disk) = &volume.rbd {
        return Some(Disk::Rbd {
            monitors: shared(&disk.monitors),
            pool: disk.pool.as_str().into(),
            image: disk.image.as_str().into(),
            read_only: disk.read_only,
        });
    }
    let azure = volume.azure_disk.as_ref().map(|disk| counted(InTree::AzureDisk, &disk.disk_uri));
    let cinder = volume.cinder.as_ref().map(|disk| counted(InTree::Cinder, &disk.volume_id));
    let portworx = volume.portworx_volume.as_ref().map(|disk| counted(InTree::Portworx, &disk.volume_id));
    azure.or(cinder).or(portworx)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn each_kind_of_disk_arrives_as_it_is() {
        let read = |volume: Value| disk(&serde_json::from_value(volume).expect("a volume"));
        let gce = json!({ "name": "x", "gcePersistentDisk": { "pdName": "p", "readOnly": true } });
        assert_eq!(read(gce), Some(Disk::GcePd { name: "p".into(), read_only: true }));
        let aws = json!({ "name": "x", "awsElasticBlockStore": { "volumeID": "v" } });
        assert_eq!(read(aws), Some(Disk::AwsEbs { volume: "v".into() }));
        let iscsi = json!({ "name": "x", "iscsi": { "iqn": "q", "targetPortal": "t" } });
        assert_eq!(read(iscsi), Some(Disk::Iscsi { target: "q".into(), read_only: false }));
        let rbd = json!({ "name": "x", "rbd": { "image": "i", "monitors": ["a", "b"], "pool": "rbd" } });
        let (monitors, pool) = (vec!["a".into(), "b".into()], "rbd".into());
        assert_eq!(read(rbd), Some(Disk::Rbd { monitors, pool, image: "i".into(), read_only: false }));
        let counted = [
            (json!({ "azureDisk": { "diskName": "n", "diskURI": "u" } }), InTree::AzureDisk, "u"),
            (json!({ "cinder": { "volumeID": "o" } }), InTree::Cinder, "o"),
            (json!({ "portworxVolume": { "volumeID": "w" } }), InTree::Portworx, "w"),
        ];
        for (volume, plugin, name) in counted {
            assert_eq!(read(volume), Some(Disk::Counted(Handle { plugin, name: name.into() })));
        }
        assert_eq!(read(json!({ "name": "x", "emptyDir": {} })), None);
    }
}
