//! The objects that are written, as the wire has them. What an object holds follows from its step, so that it can be
//! told whether all of it is there.

use anyhow::{Context, ensure};
use serde_json::{Value, json};

/// Which object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Id {
    pub(crate) kind: Kind,
    pub(crate) writer: u64,
    pub(crate) number: u64,
}

/// A kind of object that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    ConfigMap,
    Claim,
}

/// The number of a write; no two writes have the same.
pub(crate) type WriteNumber = u64;

/// An object as the server showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) id: Id,
    pub(crate) step: WriteNumber,
    pub(crate) revision: u64,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::ConfigMap, Self::Claim];

    /// Where the objects of the kind are.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::ConfigMap => "/api/v1/namespaces/default/configmaps",
            Self::Claim => "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims",
        }
    }
}

impl Id {
    pub(crate) fn name(self) -> String {
        format!("crash-{}-{}", self.writer, self.number)
    }

    pub(crate) fn path(self) -> String {
        format!("{}/{}", self.kind.path(), self.name())
    }

    /// The object at a step; with a revision, only over that revision.
    pub(crate) fn object(self, step: WriteNumber, over: Option<u64>) -> Vec<u8> {
        let mut meta = json!({"name": self.name(), "namespace": "default",
            "annotations": {"crash/step": step.to_string(), "crash/filling": filling(step)}});
        if let Some(revision) = over {
            meta["resourceVersion"] = json!(revision.to_string());
        }
        let object = match self.kind {
            Kind::ConfigMap => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}),
            Kind::Claim => {
                json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": meta,
                "spec": {"devices": {"requests": [
                    {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com"}}]}}})
            }
        };
        object.to_string().into_bytes()
    }

    /// Reads an object of ours; `None` for one that somebody else made.
    pub(crate) fn read(kind: Kind, object: &Value) -> anyhow::Result<Option<Shown>> {
        let meta = &object["metadata"];
        let name = meta["name"].as_str().context("an object has a name")?;
        let Some((writer, number)) = name.strip_prefix("crash-").and_then(|rest| rest.split_once('-')) else {
            return Ok(None);
        };
        let id = Self { kind, writer: writer.parse()?, number: number.parse()? };
        let step = meta["annotations"]["crash/step"].as_str().context("our objects have a step")?.parse()?;
        let filled = meta["annotations"]["crash/filling"].as_str() == Some(&filling(step));
        ensure!(filled, "{name} has step {step} and the filling of another");
        Ok(Some(Shown { id, step, revision: revision(object)? }))
    }
}

/// The revision of an object or a list.
pub(crate) fn revision(object: &Value) -> anyhow::Result<u64> {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).with_context(|| format!("{object} has no revision"))
}

/// Text of a length that varies, so that records end anywhere in a disk's blocks.
fn filling(step: WriteNumber) -> String {
    let letter = char::from(b'a' + (step % 26) as u8);
    std::iter::repeat_n(letter, (step * 37 % 6_000) as usize).collect()
}
