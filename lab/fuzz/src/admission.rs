//! Whatever somebody sends, admission accepts it or says why not; and what it accepted, it accepts again unchanged.

mod mutations;
mod specimens;

use std::collections::BTreeMap;

use admission::{Context, FieldValidation, Identity, Operation, Rejection, Submission, Surroundings, admit};
use gates::Gates;
use model::timestamp::Timestamp;
use objects::core::node::Node;
use objects::scheduling::priority_class::PriorityClass;
use schema::{Kind, Scope, table};
use serde_json::{Value, json};
use testkit::Choices;

pub use mutations::mutate;
pub use specimens::specimens;

/// So long may one cause be, however large the object was.
const CAUSE_BYTES_MAX: usize = 4 * 1024;
const CAUSES_MAX: usize = 1_000;
const NAMESPACE: &str = "default";

/// What became of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was created, and survived an update with itself.
    Accepted,
    /// It was refused.
    Refused,
}

/// A cluster with one namespace and no nodes.
struct Quiet;

impl Surroundings for Quiet {
    fn namespace_labels(&self, name: &str) -> Option<BTreeMap<String, String>> {
        let labels = [("resource.kubernetes.io/admin-access".to_owned(), "true".to_owned())];
        (name == NAMESPACE).then(|| labels.into())
    }

    fn priority_class(&self, name: &str) -> Option<PriorityClass> {
        let class = json!({ "metadata": { "name": name }, "value": 1000 });
        (name == "high").then(|| serde_json::from_value(class).expect("the class is well formed"))
    }

    fn default_priority_class(&self) -> Option<PriorityClass> {
        None
    }

    fn nodes(&self, _wanted: &dyn Fn(&Node) -> bool) -> Vec<Node> {
        Vec::new()
    }
}

/// Any object of any kind, right in its types and random in everything else.
pub fn check_random(bytes: &[u8]) -> Verdict {
    let (head, rest) = bytes.split_at(bytes.len().min(2));
    let mut choices = Choices::new(head);
    let kinds = table().kinds();
    let kind = &kinds[choices.below(kinds.len())];
    check(kind, testkit::object(kind, rest), gates(&mut choices))
}

/// A real-looking object with a few values changed.
pub fn check_mutated(bytes: &[u8]) -> Verdict {
    let mut choices = Choices::new(bytes);
    let specimens = specimens();
    let (kind, mut object) = specimens[choices.below(specimens.len())].clone();
    let gates = gates(&mut choices);
    for _ in 0..choices.below(4) {
        mutate(&mut object, &mut choices);
    }
    let verdict = check(kind, object.clone(), gates);
    check_changes(kind, &object, gates, &mut choices);
    verdict
}

fn gates(choices: &mut Choices<'_>) -> Gates {
    match choices.below(3) {
        0 => Gates::default(),
        1 => Gates::all_on(),
        _ => Gates::NONE,
    }
}

/// Creates the object; if that is possible, updates it and its status with itself.
pub fn check(kind: &Kind, object: Value, gates: Gates) -> Verdict {
    let Ok(stored) = create(kind, object, gates) else { return Verdict::Refused };
    check_again(kind, &stored, gates);
    Verdict::Accepted
}

/// The object as the store would hold it.
///
/// # Errors
/// Why the object cannot be created.
pub fn create(kind: &Kind, object: Value, gates: Gates) -> Result<Value, Rejection> {
    let mut stored = submit(kind, object, Operation::Create, gates)?;
    stored["metadata"]["resourceVersion"] = json!("7");
    Ok(stored)
}

/// Sending back what was read is no change.
fn check_again(kind: &Kind, stored: &Value, gates: Gates) {
    // Nobody can read these back.
    if matches!(kind.kind.as_str(), "Binding" | "Eviction") {
        return;
    }
    let operations =
        [Some(Operation::Update(stored)), kind.status.then_some(Operation::UpdateStatus(stored))];
    for operation in operations.into_iter().flatten() {
        let what = if matches!(operation, Operation::Update(_)) { "object" } else { "status" };
        let sent = admission::from_stored(kind, stored.clone());
        let again = submit(kind, sent, operation, gates);
        let (version, name) = (&kind.api_version, &kind.kind);
        assert!(
            again.is_ok(),
            "the {what} of {version} {name} was accepted, then refused: {again:?}\n{stored}"
        );
        assert_eq!(again.as_ref(), Ok(stored), "the {what} of {version} {name} changed on its own");
    }
}

/// Changes an accepted object or its status at random; what is accepted of that is accepted again.
fn check_changes(kind: &Kind, object: &Value, gates: Gates, choices: &mut Choices<'_>) {
    let Ok(stored) = create(kind, object.clone(), gates) else { return };
    for _ in 0..2 {
        let mut sent = admission::from_stored(kind, stored.clone());
        let with_status = specimens().into_iter().find(|(known, _)| known.object == kind.object);
        if let Some((_, specimen)) = with_status
            && let Some(status) = specimen.get("status")
        {
            sent["status"] = status.clone();
        }
        mutate(&mut sent, choices);
        // The path of a request says which object is meant, so a change under another name does not come this far.
        if sent.pointer("/metadata/name") != stored.pointer("/metadata/name") {
            continue;
        }
        let operation = if kind.status && choices.one_in(2) {
            Operation::UpdateStatus(&stored)
        } else {
            Operation::Update(&stored)
        };
        if let Ok(mut changed) = submit(kind, sent, operation, gates) {
            changed["metadata"]["resourceVersion"] = json!("8");
            check_again(kind, &changed, gates);
        }
    }
}

fn submit(kind: &Kind, object: Value, operation: Operation<'_>, gates: Gates) -> Result<Value, Rejection> {
    let namespace = match kind.scope {
        Scope::Namespaced => NAMESPACE,
        Scope::Cluster => "",
    };
    let submission = Submission {
        kind,
        namespace,
        object,
        owners: None,
        duplicates: Vec::new(),
        field_validation: FieldValidation::Warn,
    };
    let identity = Identity { uid: "01234567-89ab-cdef-0123-456789abcdef", suffix: "x7k2p" };
    let now = Timestamp::parse("2026-11-15T12:00:00Z").expect("the time is well formed");
    let context = Context { now, gates: &gates, surroundings: &Quiet };
    let answer = admit(submission, operation, identity, &context);
    match answer {
        Ok(admitted) => Ok(admitted.object),
        Err(rejection) => {
            check_size(&rejection);
            Err(rejection)
        }
    }
}

/// A hostile object does not get a huge answer.
fn check_size(rejection: &Rejection) {
    match rejection {
        Rejection::Invalid(causes) => {
            assert!(!causes.is_empty(), "refused without a cause");
            assert!(causes.len() <= CAUSES_MAX, "{} causes", causes.len());
            for cause in causes {
                let length = cause.to_string().len();
                assert!(length <= CAUSE_BYTES_MAX, "a cause of {length} bytes: {cause:.300}");
            }
        }
        Rejection::BadRequest(text) | Rejection::WrongNamespace(text) | Rejection::Forbidden(text) => {
            assert!(text.len() <= CAUSE_BYTES_MAX, "a message of {} bytes: {text:.300}", text.len());
        }
    }
}
