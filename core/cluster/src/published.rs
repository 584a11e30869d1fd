//! A slice together with the form that selectors read.
//!
//! Invariant: row `i` of the table is device `i` of the slice. A device that no selector can look at has an empty row,
//! and is listed as unreadable.

use model::device::{Attribute, Device, Slice};
use selector::{AttributeValue, BadAttribute, DeviceSlice, SliceRevision};

/// A slice, ready to be searched.
#[derive(Clone, Debug)]
pub struct Published {
    /// What was published.
    pub slice: Slice,
    /// Its devices as selectors read them.
    pub table: DeviceSlice,
    /// Devices that no selector can look at, in order, and why.
    pub unreadable: Vec<(usize, BadAttribute)>,
    /// Which state of which slice this is.
    pub revision: SliceRevision,
}

impl Published {
    /// Prepares a slice. The revision must differ from that of any other slice and of any other state of this one.
    #[must_use]
    pub fn new(slice: Slice, revision: SliceRevision) -> Published {
        let mut unreadable = Vec::new();
        let driver = slice.pool.driver.clone();
        let rows = slice.devices.iter().enumerate().map(|(at, device)| match row(&driver, device) {
            Ok(row) => row,
            Err(bad) => {
                unreadable.push((at, bad));
                selector::Device::new(&driver, device.shareable)
            }
        });
        let table = DeviceSlice::new(rows.collect());
        Published { slice, table, unreadable, revision }
    }
}

/// A device as selectors read it.
fn row(driver: &str, device: &Device) -> Result<selector::Device, BadAttribute> {
    let mut row = selector::Device::new(driver, device.shareable);
    for (name, attribute) in &device.attributes {
        let texts: Vec<&str>;
        let value = match attribute {
            Attribute::Int(value) => AttributeValue::Int(*value),
            Attribute::Bool(value) => AttributeValue::Bool(*value),
            Attribute::String(text) => AttributeValue::String(text),
            Attribute::Version(text) => AttributeValue::Version(text),
            Attribute::Ints(values) => AttributeValue::Ints(values),
            Attribute::Bools(values) => AttributeValue::Bools(values),
            Attribute::Strings(values) => {
                texts = values.iter().map(|text| &**text).collect();
                AttributeValue::Strings(&texts)
            }
            Attribute::Versions(values) => {
                texts = values.iter().map(|text| &**text).collect();
                AttributeValue::Versions(&texts)
            }
            Attribute::Missing => AttributeValue::Missing,
        };
        row.attribute(name, &value)?;
    }
    for (name, capacity) in &device.capacity {
        row.capacity(name, capacity.value.clone());
    }
    Ok(row)
}
