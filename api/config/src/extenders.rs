//! Extenders: other servers that Kubernetes asks about nodes. We ask none, and say so rather than leave them out, for a
//! scheduler that ignores its extender puts pods where they must not go.

use crate::fault::{Faults, Problem};
use crate::fields::{Fields, Item};

/// Reads `extenders`, and refuses them if there are any.
pub(crate) fn refuse(file: &Fields<'_>, faults: &mut Faults) {
    let Some(item) = file.get("extenders") else { return };
    if !item.list(faults, extender).is_empty() {
        let sentence = "extenders are not supported; hint: remove them, and publish the devices that they manage as \
            ResourceSlices";
        item.fault(Problem::Rule(sentence), faults);
    }
}

/// Checks the names and types of the fields, so that the mistakes in them are told at once.
fn extender(item: &Item<'_>, faults: &mut Faults) -> Option<()> {
    let texts = ["urlPrefix", "filterVerb", "preemptVerb", "prioritizeVerb", "bindVerb"];
    let flags = ["enableHTTPS", "nodeCacheCapable", "ignorable"];
    let others = ["weight", "tlsConfig", "httpTimeout", "managedResources"];
    let fields = item.fields(&[&texts[..], &flags, &others].concat(), faults)?;
    check(&fields, &texts, &flags, faults);
    fields.whole("weight", i64::MIN..=i64::MAX, faults);
    fields.duration("httpTimeout", faults);
    fields.list("managedResources", faults, |item, faults| {
        let fields = item.fields(&["name", "ignoredByScheduler"], faults)?;
        check(&fields, &["name"], &["ignoredByScheduler"], faults);
        Some(())
    });
    if let Some(tls) = fields.get("tlsConfig") {
        let texts = ["serverName", "certFile", "keyFile", "caFile", "certData", "keyData", "caData"];
        let fields = tls.fields(&[&texts[..], &["insecure"]].concat(), faults)?;
        check(&fields, &texts, &["insecure"], faults);
    }
    Some(())
}

fn check(fields: &Fields<'_>, texts: &[&str], flags: &[&str], faults: &mut Faults) {
    for name in texts {
        fields.text(name, faults);
    }
    for name in flags {
        fields.flag(name, faults);
    }
}
