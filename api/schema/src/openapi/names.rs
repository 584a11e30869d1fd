//! The names under which Kubernetes lists structures in its OpenAPI documents.

use crate::table::{Scalar, Struct};

pub(super) const DELETE_OPTIONS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions";
pub(super) const FIELDS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
pub(super) const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";
pub(super) const RAW: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
pub(super) const STATUS: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

/// The name of a structure, such as `io.k8s.api.resource.v1.Device`.
pub fn component_name(structure: &Struct) -> String {
    let name = structure.name.as_str();
    if name.starts_with("meta.") {
        format!("io.k8s.apimachinery.pkg.apis.{name}")
    } else if name.starts_with("supercargo.") {
        format!("dev.{name}")
    } else {
        format!("io.k8s.api.{name}")
    }
}

/// The name of a single value that has a component of its own.
pub(super) fn scalar_component(scalar: Scalar) -> Option<&'static str> {
    Some(match scalar {
        Scalar::Quantity => "io.k8s.apimachinery.pkg.api.resource.Quantity",
        Scalar::Time => "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
        Scalar::MicroTime => "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
        Scalar::IntOrString => "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
        Scalar::String | Scalar::Bool | Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::Bytes => {
            return None;
        }
    })
}
