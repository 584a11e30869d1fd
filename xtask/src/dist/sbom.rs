//! What the program is made of: a software bill of materials in the form of CycloneDX 1.6, read from cargo's own metadata.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::process::Command;

use serde_json::{Value, json};

use super::program::{Program, TARGET};
use super::{DistError, read, root};

/// The list, as JSON.
pub(crate) fn list(program: &Program) -> Result<Vec<u8>, DistError> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).args([
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        TARGET,
    ]);
    let output =
        command.output().map_err(|error| DistError::Command(format!("cannot run cargo: {error}")))?;
    let unreadable =
        |error: &dyn std::fmt::Display| DistError::Command(format!("cannot read cargo metadata: {error}"));
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|error| unreadable(&error))?;
    let lock = String::from_utf8_lossy(&read(&root().join("Cargo.lock"))?).into_owned();
    let lock: toml::Table = toml::from_str(&lock).map_err(|error| unreadable(&error))?;
    let document = document(&metadata, &checksums(&lock), &program.version, &program.commit);
    Ok(format!("{document:#}\n").into_bytes())
}

/// The digests of crates from the registry, by name and version.
fn checksums(lock: &toml::Table) -> BTreeMap<(String, String), String> {
    let packages = lock.get("package").and_then(|packages| packages.as_array()).into_iter().flatten();
    let text = |package: &toml::Value, key: &str| package.get(key)?.as_str().map(str::to_owned);
    packages
        .filter_map(|one| Some(((text(one, "name")?, text(one, "version")?), text(one, "checksum")?)))
        .collect()
}

fn document(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    version: &str,
    commit: &str,
) -> Value {
    let packages: BTreeMap<&str, &Value> =
        items(&metadata["packages"]).map(|one| (text(&one["id"]), one)).collect();
    let nodes: BTreeMap<&str, &Value> =
        items(&metadata["resolve"]["nodes"]).map(|one| (text(&one["id"]), one)).collect();
    let begin = packages.iter().find(|(_, one)| one["name"] == "supercargo").map(|(id, _)| *id);
    let begin = begin.expect("the program is a package of the workspace");
    let (mut known, mut open) = (BTreeSet::from([begin]), vec![begin]);
    while let Some(id) = open.pop() {
        let found = needs(nodes[id]).filter(|need| known.insert(need)).collect::<Vec<&str>>();
        open.extend(found);
    }
    let reference = |id: &str| {
        let package = packages[id];
        format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"]))
    };
    let mut components: Vec<Value> = known
        .iter()
        .filter(|id| **id != begin)
        .map(|id| component(packages[id], checksums, &reference(id)))
        .collect();
    components.sort_by_key(|one| text(&one["bom-ref"]).to_owned());
    let mut dependencies: Vec<Value> = known
        .iter()
        .map(|id| {
            let needs: BTreeSet<String> = needs(nodes[id]).map(reference).collect();
            json!({ "ref": reference(id), "dependsOn": needs })
        })
        .collect();
    dependencies.sort_by_key(|one| text(&one["ref"]).to_owned());
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": reference(begin), "name": "supercargo", "version": version,
            "licenses": [{ "expression": "Apache-2.0" }],
            "properties": [{ "name": "commit", "value": commit }],
        } },
        "components": components,
        "dependencies": dependencies,
    })
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>, reference: &str) -> Value {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let mut component = json!({ "type": "library", "bom-ref": reference, "purl": reference, "name": name, "version": version });
    if let Some(license) = package["license"].as_str() {
        component["licenses"] = json!([{ "expression": license.replace('/', " OR ") }]);
    }
    if let Some(digest) = checksums.get(&(name.to_owned(), version.to_owned())) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": digest }]);
    }
    component
}

/// What a package needs to run or to be built, but not for its tests.
fn needs(node: &Value) -> impl Iterator<Item = &str> {
    let needed = |one: &&Value| items(&one["dep_kinds"]).any(|kind| kind["kind"] != "dev");
    items(&node["deps"]).filter(needed).map(|one| text(&one["pkg"]))
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_only_tests_need_is_not_listed() {
        let package =
            |name: &str| json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0" });
        let dep = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let packages = ["supercargo", "a", "b", "c"].map(package);
        let metadata = json!({
            "packages": packages,
            "resolve": { "nodes": [
                { "id": "supercargo", "deps": [dep("a", Value::Null), dep("c", "dev".into())] },
                { "id": "a", "deps": [dep("b", "build".into())] },
                { "id": "b", "deps": [] },
                { "id": "c", "deps": [] },
            ] },
        });
        let checksums = BTreeMap::from([(("a".to_owned(), "1.0.0".to_owned()), "ab12".to_owned())]);
        let listed = document(&metadata, &checksums, "1.0.0", "c0ffee");
        let names: Vec<&str> = items(&listed["components"]).map(|one| text(&one["name"])).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(listed["components"][0]["hashes"][0]["content"], "ab12");
        assert_eq!(listed["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(listed["dependencies"][2]["dependsOn"], json!(["pkg:cargo/a@1.0.0"]));
    }
}
