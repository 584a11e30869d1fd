//! The readers that are compared.

use std::any::Any;

use anyhow::Context;
use clap::ValueEnum;

use objects::core::pod::Pod;
use objects::resource::slice::ResourceSlice;

/// A way to read a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Contender {
    /// Our own wire types
    Ours,
    /// The types of k8s-openapi
    #[cfg(feature = "compare")]
    K8sOpenapi,
    /// JSON values without types
    Value,
}

/// What is in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Content {
    Pods,
    Slices,
}

impl Contender {
    /// All that this build has.
    pub(crate) fn all() -> &'static [Self] {
        &[
            Self::Ours,
            #[cfg(feature = "compare")]
            Self::K8sOpenapi,
            Self::Value,
        ]
    }

    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Ours => "objects",
            #[cfg(feature = "compare")]
            Self::K8sOpenapi => "k8s-openapi 0.29",
            Self::Value => "serde_json::Value",
        }
    }

    /// Reads the list and says how many items it has, together with what holds them in memory.
    pub(crate) fn decode(self, content: Content, json: &[u8]) -> anyhow::Result<(usize, Box<dyn Any>)> {
        match (self, content) {
            (Self::Ours, Content::Pods) => {
                let list = objects::decode_list::<Pod>(json)?;
                Ok((list.items.len(), Box::new(list)))
            }
            (Self::Ours, Content::Slices) => {
                let list = objects::decode_list::<ResourceSlice>(json)?;
                Ok((list.items.len(), Box::new(list)))
            }
            (Self::Value, _) => {
                let list: serde_json::Value = serde_json::from_slice(json)?;
                let items = list["items"].as_array().context("the list has no items")?.len();
                Ok((items, Box::new(list)))
            }
            #[cfg(feature = "compare")]
            (Self::K8sOpenapi, content) => k8s_openapi_list(content, json),
        }
    }
}

#[cfg(feature = "compare")]
fn k8s_openapi_list(content: Content, json: &[u8]) -> anyhow::Result<(usize, Box<dyn Any>)> {
    use k8s_openapi::List;
    use k8s_openapi::api::{core, resource};
    match content {
        Content::Pods => {
            let list: List<core::v1::Pod> = serde_json::from_slice(json)?;
            Ok((list.items.len(), Box::new(list)))
        }
        Content::Slices => {
            let list: List<resource::v1::ResourceSlice> = serde_json::from_slice(json)?;
            Ok((list.items.len(), Box::new(list)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Contender, Content};
    use crate::{pods, slices};

    #[test]
    fn every_contender_reads_every_list() {
        for (content, text) in [(Content::Pods, pods::list(20, 3)), (Content::Slices, slices::list(20, 3))] {
            for contender in Contender::all() {
                let (items, _held) =
                    contender.decode(content, text.as_bytes()).expect("the generated list is well formed");
                assert_eq!(items, 20, "{}", contender.label());
            }
        }
    }
}
