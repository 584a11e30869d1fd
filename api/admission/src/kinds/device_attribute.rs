//! Attributes of devices: exactly one value, of a sensible size.

use objects::resource::slice::{Device, DeviceAttribute};
use schema::Path;

use crate::cause::Causes;
use crate::names;

const VALUE_BYTES_MAX: usize = 64;

/// Some attribute of the device has a list of values.
pub(crate) fn has_lists(device: &Device) -> bool {
    device.attributes.values().any(|attribute| {
        attribute.bools.is_some()
            || attribute.ints.is_some()
            || attribute.strings.is_some()
            || attribute.versions.is_some()
    })
}

/// Takes the lists out of the device's attributes.
pub(crate) fn clear_lists(device: &mut Device) {
    for attribute in device.attributes.values_mut() {
        attribute.bools = None;
        attribute.ints = None;
        attribute.strings = None;
        attribute.versions = None;
    }
}

/// How many values the device's attributes have together.
pub(crate) fn count_values(device: &Device) -> usize {
    let listed = |attribute: &DeviceAttribute| {
        attribute.bools.as_ref().map_or(0, Vec::len)
            + attribute.ints.as_ref().map_or(0, Vec::len)
            + attribute.strings.as_ref().map_or(0, Vec::len)
            + attribute.versions.as_ref().map_or(0, Vec::len)
    };
    device.attributes.values().map(|attribute| listed(attribute).max(1)).sum()
}

/// The rules for one attribute.
pub(crate) fn validate(attribute: &DeviceAttribute, path: &Path<'_>, causes: &mut Causes) {
    if let Some(text) = &attribute.string {
        validate_text(text, &path.field("string"), causes);
    }
    if let Some(version) = &attribute.version {
        validate_version(version, &path.field("version"), causes);
    }
    for (name, empty) in [
        ("bools", attribute.bools.as_ref().is_some_and(Vec::is_empty)),
        ("ints", attribute.ints.as_ref().is_some_and(Vec::is_empty)),
        ("strings", attribute.strings.as_ref().is_some_and(Vec::is_empty)),
        ("versions", attribute.versions.as_ref().is_some_and(Vec::is_empty)),
    ] {
        if empty {
            causes.invalid(&path.field(name), "must not be empty if it is set");
        }
    }
    for (index, text) in attribute.strings.iter().flatten().enumerate() {
        validate_text(text, &path.field("strings").index(index), causes);
    }
    for (index, version) in attribute.versions.iter().flatten().enumerate() {
        validate_version(version, &path.field("versions").index(index), causes);
    }
    let scalars = [
        attribute.bool.is_some(),
        attribute.int.is_some(),
        attribute.string.is_some(),
        attribute.version.is_some(),
    ];
    let lists = [
        attribute.bools.as_ref().map(Vec::len),
        attribute.ints.as_ref().map(Vec::len),
        attribute.strings.as_ref().map(Vec::len),
        attribute.versions.as_ref().map(Vec::len),
    ];
    let scalars = scalars.iter().filter(|set| **set).count();
    let given = scalars + lists.iter().flatten().count();
    let filled = scalars + lists.iter().flatten().filter(|length| **length > 0).count();
    // An empty list is no value, but it is one too many beside a value.
    if given != 1 || filled != 1 {
        causes.invalid(path, "must have exactly one value");
    }
}

fn validate_text(text: &str, path: &Path<'_>, causes: &mut Causes) {
    if text.len() > VALUE_BYTES_MAX {
        causes.too_long(path, VALUE_BYTES_MAX);
    }
}

fn validate_version(version: &str, path: &Path<'_>, causes: &mut Causes) {
    if !names::is_semver(version) {
        causes.invalid(path, "must be a version such as 1.2.3, by the rules of semver.org 2.0.0");
    }
    validate_text(version, path, causes);
}
