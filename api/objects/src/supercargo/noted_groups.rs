//! The compatibility groups that allocated devices declared when they were chosen, whichever way they travel.
//!
//! KEP-5963 has a field for them in each result of an allocation. A server that does not know the field drops it, so the
//! same is noted in an annotation of the claim too. A write of a status leaves annotations alone, so the note is written
//! first, and the allocation only over the version of the claim that has it.
//!
//! Invariant: nobody else reads or writes either form. Each entry of the note names the result that it is for, and counts for
//! no other; where the field is kept, it alone counts. What is written last before an allocation is its own note, or none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::resource::allocation::DeviceRequestAllocationResult;
use crate::resource::claim::ResourceClaim;
use crate::supercargo::annotations::COMPATIBILITY_GROUPS;

/// The groups of one device, by counter set.
pub type Groups = BTreeMap<String, Vec<String>>;

static NONE: Groups = Groups::new();

/// One device of the note.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NotedDevice {
    request: String,
    driver: String,
    pool: String,
    device: String,
    #[serde(rename = "shareID", default, skip_serializing_if = "Option::is_none")]
    share_id: Option<String>,
    groups: Groups,
}

impl NotedDevice {
    fn is_for(&self, result: &DeviceRequestAllocationResult) -> bool {
        self.request == result.request
            && self.driver == result.driver
            && self.pool == result.pool
            && self.device == result.device
            && self.share_id == result.share_id
    }
}

/// What is noted on a claim.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct NotedGroups(Vec<NotedDevice>);

impl NotedGroups {
    /// Reads the note. One that means nothing is none: the groups then come from where they come from without it.
    #[must_use]
    pub fn of(claim: &ResourceClaim) -> Self {
        let text = claim.metadata.annotations.get(COMPATIBILITY_GROUPS);
        Self(text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default())
    }

    /// The groups that the device of a result declared when it was chosen; empty if it declared none, or nobody noted them.
    #[must_use]
    pub fn groups<'n>(&'n self, result: &'n DeviceRequestAllocationResult) -> &'n Groups {
        let noted = || self.0.iter().find(|device| device.is_for(result)).map(|device| &device.groups);
        let kept = Some(&result.compatibility_groups);
        kept.filter(|groups| is_said(groups))
            .or_else(|| noted().filter(|groups| is_said(groups)))
            .unwrap_or(&NONE)
    }
}

/// Notes on a claim what the results of an allocation say that it is about to get, in place of what was noted before.
pub fn note(claim: &mut ResourceClaim, results: &[DeviceRequestAllocationResult]) {
    let said = results.iter().filter(|result| is_said(&result.compatibility_groups));
    let devices: Vec<NotedDevice> = said.map(noted_device).collect();
    if devices.is_empty() {
        forget(claim);
        return;
    }
    let text = serde_json::to_string(&devices).expect("the keys of the groups are texts");
    claim.metadata.annotations.insert(COMPATIBILITY_GROUPS.to_owned(), text);
}

/// Takes the note off a claim that has no devices any more.
pub fn forget(claim: &mut ResourceClaim) {
    claim.metadata.annotations.remove(COMPATIBILITY_GROUPS);
}

/// Groups are noted only of a device that declares some, so that a note without any says nothing.
fn is_said(groups: &Groups) -> bool {
    groups.values().any(|groups| !groups.is_empty())
}

fn noted_device(result: &DeviceRequestAllocationResult) -> NotedDevice {
    NotedDevice {
        request: result.request.clone(),
        driver: result.driver.clone(),
        pool: result.pool.clone(),
        device: result.device.clone(),
        share_id: result.share_id.clone(),
        groups: result.compatibility_groups.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn result(device: &str, share: Option<&str>, groups: &Value) -> DeviceRequestAllocationResult {
        let result = json!({
            "request": "r", "driver": "d", "pool": "p", "device": device, "shareID": share, "compatibilityGroups": groups,
        });
        serde_json::from_value(result).expect("a result")
    }

    fn noted(text: &str) -> ResourceClaim {
        let mut claim = ResourceClaim::default();
        claim.metadata.annotations.insert(COMPATIBILITY_GROUPS.to_owned(), text.to_owned());
        claim
    }

    fn read(claim: &ResourceClaim, result: &DeviceRequestAllocationResult) -> Value {
        json!(NotedGroups::of(claim).groups(result))
    }

    #[test]
    fn what_a_server_drops_is_read_from_the_note() {
        let groups = json!({ "set": ["foo", "foobar"], "other": [] });
        let results = [
            result("a", None, &groups),
            result("b", Some("one"), &json!({ "set": ["mig"] })),
            result("plain", None, &json!({})),
        ];
        let mut claim = ResourceClaim::default();
        note(&mut claim, &results);
        assert_eq!(
            claim.metadata.annotations[COMPATIBILITY_GROUPS],
            r#"[{"request":"r","driver":"d","pool":"p","device":"a","groups":{"other":[],"set":["foo","foobar"]}},{"request":"r","driver":"d","pool":"p","device":"b","shareID":"one","groups":{"set":["mig"]}}]"#
        );
        assert_eq!(read(&claim, &result("a", None, &json!({}))), groups);
        assert_eq!(read(&claim, &result("b", Some("one"), &json!({}))), json!({ "set": ["mig"] }));
        assert_eq!(read(&claim, &result("plain", None, &json!({}))), json!({}));
        // Where the server keeps the field, nobody who may write annotations has a say.
        assert_eq!(read(&claim, &result("a", None, &json!({ "set": ["kept"] }))), json!({ "set": ["kept"] }));
    }

    #[test]
    fn a_note_counts_for_the_result_that_it_names_and_for_no_other() {
        let mut claim = ResourceClaim::default();
        note(&mut claim, &[result("a", Some("one"), &json!({ "set": ["mig"] }))]);
        for other in [result("b", Some("one"), &json!({})), result("a", Some("two"), &json!({}))] {
            assert_eq!(read(&claim, &other), json!({}));
        }
        let same = result("a", Some("one"), &json!({}));
        let mut others = [same.clone(), same.clone(), same.clone()];
        (others[0].request, others[1].driver, others[2].pool) = ("x".into(), "x".into(), "x".into());
        assert!(
            others.iter().all(|other| read(&claim, other) == json!({})),
            "another request, driver or pool"
        );
        assert_eq!(read(&claim, &same), json!({ "set": ["mig"] }));
    }

    #[test]
    fn the_next_allocation_puts_its_own_note_in_place_of_an_old_one_or_takes_it_away() {
        let mut claim = ResourceClaim::default();
        note(&mut claim, &[result("a", None, &json!({ "set": ["mig"] }))]);
        note(&mut claim, &[result("b", None, &json!({ "set": ["vgpu"] }))]);
        assert_eq!(read(&claim, &result("a", None, &json!({}))), json!({}));
        note(&mut claim, &[result("a", None, &json!({ "set": [] }))]);
        assert!(claim.metadata.annotations.is_empty());
    }

    #[test]
    fn a_note_that_means_nothing_is_none() {
        let asked = result("a", None, &json!({}));
        let entry = r#""request":"r","driver":"d","pool":"p","device":"a""#;
        let garbled = [
            String::new(),
            "mig".to_owned(),
            "{}".to_owned(),
            "[{}]".to_owned(),
            format!("[{{{entry}}}]"),
            format!(r#"[{{{entry},"groups":"mig"}}]"#),
            format!(r#"[{{{entry},"groups":{{"set":[1]}}}}]"#),
            format!(r#"[{{{entry},"groups":{{}}}}]"#),
            format!(r#"[{{{entry},"groups":{{"set":[]}}}}]"#),
            format!(r#"[{{{entry},"more":1,"groups":{{"set":["mig"]}}}}]"#),
        ];
        for text in garbled {
            assert_eq!(read(&noted(&text), &asked), json!({}), "{text}");
        }
        let good = format!(r#"[{{{entry},"groups":{{"set":["mig"]}}}}]"#);
        assert_eq!(read(&noted(&good), &asked), json!({ "set": ["mig"] }));
    }
}
