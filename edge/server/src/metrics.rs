//! Counters in Prometheus' text format.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use parking_lot::Mutex;
use schema::table;
use store::Resource;

use crate::registry::Registry;

/// Requests by verb, resource and code.
#[derive(Default)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, String, u16), u64>>,
}

impl Metrics {
    pub(crate) fn count(&self, verb: &'static str, resource: &str, code: u16) {
        *self.requests.lock().entry((verb, resource.to_owned(), code)).or_default() += 1;
    }

    /// All counters.
    pub(crate) fn text(&self, registry: &Registry) -> String {
        let mut out = String::from(
            "# HELP apiserver_request_total Requests by verb, resource and HTTP status.\n\
             # TYPE apiserver_request_total counter\n",
        );
        for ((verb, resource, code), count) in self.requests.lock().iter() {
            let _ = writeln!(
                out,
                "apiserver_request_total{{verb=\"{verb}\",resource=\"{resource}\",code=\"{code}\"}} {count}"
            );
        }
        out.push_str("# HELP apiserver_storage_objects Stored objects by resource.\n# TYPE apiserver_storage_objects gauge\n");
        for kind in table().kinds() {
            let Some(resource) = Resource::of(kind).filter(|_| !kind.plural.is_empty()) else { continue };
            let count = registry.glance(|store| store.count(resource));
            if count > 0 {
                let group = kind.group();
                let name =
                    if group.is_empty() { kind.plural.clone() } else { format!("{}.{group}", kind.plural) };
                let _ = writeln!(out, "apiserver_storage_objects{{resource=\"{name}\"}} {count}");
            }
        }
        out.push_str("# HELP apiserver_storage_revision The revision of the last change.\n# TYPE apiserver_storage_revision gauge\n");
        let _ = writeln!(out, "apiserver_storage_revision {}", registry.glance(store::Store::revision));
        out
    }
}
