//! Explanations of typical cases as people read them: each YAML file in `explained` is a cluster, and the text file beside it is what
//! `supercargo explain` says of the object that the first line names. `REGENERATE=1` writes the texts anew.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use explain::{Audience, Effort, Subject, explain};
use gates::Gates;
use model::claim::ClaimId;
use model::group::GroupId;
use model::pod::PodId;
use simulation::{Rules, needed_gates, read, simulate_to_end};

/// Words of our own that nobody should have to learn to read an explanation.
const HOUSE_WORDS: [&str; 9] =
    ["seat", "turn", "wish", "rest", "torn", "pulse", "upkeep", "somebody", "nobody"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/explained")
}

/// The clusters, by name.
fn cases() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect();
    paths.sort();
    paths
}

/// What is explained of a case: the first line says `# explain: KIND/NAME`.
fn subject(text: &str) -> Result<Subject, String> {
    let first = text.lines().next().unwrap_or_default();
    let (kind, name) = first
        .strip_prefix("# explain: ")
        .and_then(|target| target.split_once('/'))
        .ok_or_else(|| format!("the first line is {first:?}"))?;
    let namespace = "default".into();
    Ok(match kind {
        "pod" => Subject::Pod(PodId { namespace, name: name.into() }),
        "claim" => Subject::Claim(ClaimId { namespace, name: name.into() }),
        "podgroup" => Subject::Group(GroupId { namespace, name: name.into() }),
        other => return Err(format!("{other} cannot be explained here")),
    })
}

/// The explanation, and the reason that the pod itself shows if a pod is explained that waits.
fn explained(text: &str) -> Result<(String, Option<String>), String> {
    let manifests = read("case.yaml", text).map_err(|bad| bad.to_string())?;
    let (gates, _) =
        Gates::with_needed("", needed_gates(&manifests).into_keys()).expect("no setting is wrong");
    let ended = simulate_to_end(manifests, &Rules::new(gates));
    let (ending, aftermath) = ended.map_err(|bad| bad.to_string())?;
    if !ending.troubles.is_empty() {
        return Err(ending.troubles.join("\n"));
    }
    let subject = subject(text)?;
    let told = explain(&aftermath.snapshot(), &subject, &Audience::AllNamespaces, Effort::default());
    let reason = match &subject {
        Subject::Pod(id) => {
            let pod = ending.outcome.pods.iter().find(|pod| *pod.name == *id.name);
            pod.and_then(|pod| pod.reason.clone())
        }
        _ => None,
    };
    Ok((told.to_string(), reason))
}

#[test]
fn typical_cases_are_explained_as_their_texts_say() {
    let cases = cases();
    assert!(cases.len() >= 30, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for path in cases {
        let text = fs::read_to_string(&path).expect("it can be read");
        let (told, reason) = match explained(&text) {
            Ok(explained) => explained,
            Err(what) => {
                wrong.push(format!("{}: {what}", path.display()));
                continue;
            }
        };
        let expected = path.with_extension("txt");
        if env::var_os("REGENERATE").is_some() {
            fs::write(&expected, &told).expect("the folder can be written to");
        }
        if fs::read_to_string(&expected).unwrap_or_default() != told {
            wrong.push(format!("{}:\n{told}", expected.display()));
        }
        let first = told.lines().next().unwrap_or_default();
        if reason.as_ref().is_some_and(|reason| reason != first) {
            wrong.push(format!("{}: the pod says {reason:?} and the explanation {first:?}", path.display()));
        }
        let mut words = told.split(|c: char| !c.is_ascii_alphabetic());
        if let Some(word) = words.find(|word| HOUSE_WORDS.contains(word)) {
            wrong.push(format!("{}: it says {word:?}", path.display()));
        }
    }
    let hint = "hint: REGENERATE=1 cargo test -p simulation --test explanations";
    assert!(wrong.is_empty(), "{}\n{hint}", wrong.join("\n"));
}

#[test]
fn every_text_belongs_to_a_case() {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    for entry in entries {
        let path = entry.expect("it can be read").path();
        assert!(path.with_extension("yaml").is_file(), "{} has no cluster", path.display());
    }
}
