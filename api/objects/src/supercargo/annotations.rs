//! Annotations that stand for fields of ours where a real API server would drop them.

/// On a ResourceSlice, for `bindingTimeout` of its devices: how long each may take to be made ready, as a JSON object of
/// times by the names of devices.
pub const BINDING_TIMEOUTS: &str = "supercargo.dev/binding-timeouts";
