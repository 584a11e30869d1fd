//! Takes manifests in: objects that are stored before anything happens.
//!
//! Invariant: a manifest is stored, or it is refused with its place, or it is told that its kind is left out.

use std::collections::{BTreeMap, BTreeSet};

use convert::change;
use objects::resource::claim::ResourceClaim;
use schema::table;
use serde_json::{Value, json};

use crate::fields::check_fields;
use crate::manifest::{BadInput, Manifest};
use crate::shelf::{kind_of, namespace_of};
use crate::simulation::Simulation;

/// How many pairs of claims with the same device are told of.
const CLASHES_MAX: usize = 20;

impl Simulation {
    /// Stores all objects. What others look at comes first; a namespace that somebody only names is there too.
    pub(crate) fn take_in(&mut self, manifests: Vec<Manifest>) -> Result<(), BadInput> {
        let manifests = self.without_unknown(manifests);
        let mut given = BTreeSet::new();
        let mut named = BTreeSet::from(["default".to_owned()]);
        for manifest in &manifests {
            let kind = kind_of(&manifest.value).map_err(|what| BadInput::at(manifest.place.clone(), what))?;
            check_fields(manifest)?;
            named.insert(namespace_of(kind, &manifest.value));
            if kind.kind == "Namespace" {
                given.insert(manifest.value["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            }
        }
        named.remove("");
        for name in named.difference(&given) {
            let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
            // A name that no namespace can have is complained about where it is used.
            let _ = self.shelf.create(namespace, Vec::new());
        }
        self.seed_priorities(&manifests);
        let is_first = |manifest: &Manifest| {
            matches!(manifest.value["kind"].as_str(), Some("Namespace" | "PriorityClass"))
        };
        let (first, rest): (Vec<Manifest>, Vec<Manifest>) = manifests.into_iter().partition(is_first);
        for Manifest { place, value, duplicates, .. } in first.into_iter().chain(rest) {
            // A moment passes, so that who comes first is first in line.
            self.shelf.now = self.shelf.now.plus_millis(1);
            let converted = self.shelf.create(value, duplicates).and_then(|key| {
                let object = self.shelf.get(&key).unwrap_or(&Value::Null);
                change::applied(object, 0).map_err(|error| error.to_string())?;
                self.shelf.rest(&key);
                self.workloads.take_in(&key, &place);
                Ok(())
            });
            converted.map_err(|what| BadInput::at(place, what))?;
        }
        let classes = self.shelf.read_all().map(|(key, class)| (key.name.clone(), class));
        self.classes = classes.collect();
        self.note_clashes();
        Ok(())
    }

    /// The manifests without those of kinds that nothing here knows, which are told of once for each kind.
    fn without_unknown(&mut self, mut manifests: Vec<Manifest>) -> Vec<Manifest> {
        let mut unknown: BTreeMap<(String, String), usize> = BTreeMap::new();
        manifests.retain(|manifest| {
            let text = |field: &str| manifest.value[field].as_str().filter(|text| !text.is_empty());
            let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else { return true };
            let is_known = table().kind(api_version, kind).is_some();
            if !is_known {
                *unknown.entry((api_version.to_owned(), kind.to_owned())).or_default() += 1;
            }
            is_known
        });
        self.warnings.extend(unknown.into_iter().map(|((api_version, kind), count)| {
            let objects = if count == 1 { "object" } else { "objects" };
            let elsewhere = table().kinds().iter().find(|one| one.kind == kind).map(|one| &one.api_version);
            let hint = elsewhere.map(|version| format!("; the simulation knows {kind} of {version}"));
            format!(
                "ignored {count} {objects} of the unknown kind {kind} ({api_version}){}",
                hint.unwrap_or_default()
            )
        }));
        manifests
    }

    /// Notes which claims say, as they were given, that they hold the same device.
    fn note_clashes(&mut self) {
        let mut holders: BTreeMap<[String; 3], String> = BTreeMap::new();
        let mut clashes = Vec::new();
        for (key, claim) in self.shelf.all::<ResourceClaim>() {
            let name = format!("{}/{}", key.namespace, key.name);
            for result in claim["status"]["allocation"]["devices"]["results"].as_array().into_iter().flatten()
            {
                // Such devices are shared.
                if result["adminAccess"] == true || result["shareID"].is_string() {
                    continue;
                }
                let device = ["driver", "pool", "device"]
                    .map(|field| result[field].as_str().unwrap_or_default().to_owned());
                let told = device.join("/");
                match holders.insert(device, name.clone()) {
                    Some(other) if other != name => clashes.push(format!(
                        "ResourceClaims {other} and {name} both have device {told} in their status; a device has one claim"
                    )),
                    _ => {}
                }
            }
        }
        let more = clashes.len().saturating_sub(CLASHES_MAX);
        clashes.truncate(CLASHES_MAX);
        if more > 0 {
            clashes.push(format!("{more} more devices are in the status of two ResourceClaims"));
        }
        self.warnings.append(&mut clashes);
    }

    /// The classes that every cluster has.
    fn seed_priorities(&mut self, manifests: &[Manifest]) {
        let classes =
            [("system-node-critical", 2_000_001_000_i64), ("system-cluster-critical", 2_000_000_000)];
        for (name, value) in classes {
            let is_it = |one: &Manifest| {
                one.value["kind"] == "PriorityClass" && one.value["metadata"]["name"] == name
            };
            if manifests.iter().any(is_it) {
                continue;
            }
            let class = json!({
                "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": { "name": name }, "value": value,
            });
            let seeded = self.shelf.create(class, Vec::new());
            debug_assert!(seeded.is_ok(), "the API's own classes are good: {seeded:?}");
        }
    }
}
