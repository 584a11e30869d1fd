//! An image of the program and nothing else, in the layout of the Open Container Initiative. Old versions of Docker read the same files by
//! the `manifest.json` beside it.

use std::collections::BTreeMap;
use std::io;

use serde_json::{Value, json};

use super::program::Program;
use crate::archive::{Packed, archive, gzip, hex};

/// The user and the group that the program runs as.
const USER: &str = "65532:65532";

const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The files of the layout by path.
pub(crate) fn layout(program: &Program) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let layer = archive(&root_of(program), program.time);
    let layer_digest = format!("sha256:{}", hex(&layer));
    let layer = put(&mut files, LAYER, gzip(&layer)?);
    let labels = json!({
        "org.opencontainers.image.title": "supercargo",
        "org.opencontainers.image.version": program.version,
        "org.opencontainers.image.revision": program.commit,
        "org.opencontainers.image.licenses": "Apache-2.0",
    });
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": { "User": USER, "Entrypoint": ["/supercargo"], "WorkingDir": "/", "Labels": labels },
        "rootfs": { "type": "layers", "diff_ids": [layer_digest] },
    });
    let config = put(&mut files, CONFIG, config.to_string().into_bytes());
    let paths = [&config, &layer].map(|one| path(one["digest"].as_str().unwrap_or_default()));
    let manifest = json!({
        "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer], "annotations": labels,
    });
    let mut manifest = put(&mut files, MANIFEST, manifest.to_string().into_bytes());
    let name = format!("supercargo:{}", program.version);
    manifest["annotations"] = json!({
        "org.opencontainers.image.ref.name": program.version,
        "io.containerd.image.name": format!("docker.io/library/{name}"),
    });
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest] });
    files.insert("index.json".to_owned(), index.to_string().into_bytes());
    files.insert("oci-layout".to_owned(), json!({ "imageLayoutVersion": "1.0.0" }).to_string().into_bytes());
    let [config, layer] = paths;
    let docker = json!([{ "Config": config, "RepoTags": [name], "Layers": [layer] }]);
    files.insert("manifest.json".to_owned(), docker.to_string().into_bytes());
    Ok(files)
}

/// What is in the image.
fn root_of(program: &Program) -> BTreeMap<String, Packed> {
    let users = "root:x:0:0:root:/:/sbin/nologin\nsupercargo:x:65532:65532:supercargo:/:/sbin/nologin\n";
    BTreeMap::from([
        ("etc".to_owned(), Packed::Folder),
        ("etc/passwd".to_owned(), Packed::File(users.as_bytes().to_vec())),
        ("supercargo".to_owned(), Packed::Program(program.bytes.clone())),
    ])
}

/// Keeps a blob, and gives its descriptor.
fn put(files: &mut BTreeMap<String, Vec<u8>>, media_type: &str, bytes: Vec<u8>) -> Value {
    let digest = format!("sha256:{}", hex(&bytes));
    let descriptor = json!({ "mediaType": media_type, "digest": digest, "size": bytes.len() });
    files.insert(path(&digest), bytes);
    descriptor
}

fn path(digest: &str) -> String {
    format!("blobs/{}", digest.replace(':', "/"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    fn json_at(files: &BTreeMap<String, Vec<u8>>, path: &str) -> Value {
        serde_json::from_slice(&files[path]).expect("it is JSON")
    }

    /// The blob of a descriptor, if its digest and its size are right.
    fn blob(files: &BTreeMap<String, Vec<u8>>, descriptor: &Value) -> Vec<u8> {
        let digest = descriptor["digest"].as_str().expect("a descriptor has a digest");
        let bytes = files[&path(digest)].clone();
        assert_eq!(digest, format!("sha256:{}", hex(&bytes)));
        assert_eq!(descriptor["size"], bytes.len());
        bytes
    }

    #[test]
    fn every_digest_in_the_layout_is_that_of_its_blob() {
        let program = Program::of(b"a program".to_vec());
        let files = layout(&program).expect("it is made in memory");
        assert_eq!(json_at(&files, "oci-layout")["imageLayoutVersion"], "1.0.0");
        let manifest = blob(&files, &json_at(&files, "index.json")["manifests"][0]);
        let manifest: Value = serde_json::from_slice(&manifest).expect("it is JSON");
        let config: Value = serde_json::from_slice(&blob(&files, &manifest["config"])).expect("it is JSON");
        assert_eq!(config["config"]["User"], USER);
        let mut layer = Vec::new();
        let packed = blob(&files, &manifest["layers"][0]);
        GzDecoder::new(&*packed).read_to_end(&mut layer).expect("it is compressed");
        assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", hex(&layer)));
        let bytes = &program.bytes;
        assert!(layer.windows(bytes.len()).any(|window| window == bytes), "the program is in the layer");
        assert_eq!(files, layout(&program).expect("it is made in memory"), "it is the same each time");
    }
}
