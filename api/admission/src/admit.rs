//! The way of a request through admission: shape, defaults, version, rules.

use objects::meta::ObjectMeta;
use schema::{Kind, Mismatch, Oddity, Scope, apply_defaults, conform, fill, table};
use serde_json::Value;

use crate::cause::Causes;
use crate::kind::{Admit, Context};
use crate::kinds;
use crate::metadata;
use crate::rejection::Rejection;
use crate::versions;

/// What to do about fields that the kind does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// What the request does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation<'a> {
    /// Makes a new object.
    Create,
    /// Replaces an object, except for its status. The object is as it was stored.
    Update(&'a Value),
    /// Replaces an object's status. The object is as it was stored.
    UpdateStatus(&'a Value),
}

/// An object that somebody wants stored.
#[derive(Clone)]
pub struct Submission<'a> {
    /// The kind and version of the resource that the request goes to.
    pub kind: &'a Kind,
    /// The namespace that the request names; empty for kinds that live in none.
    pub namespace: &'a str,
    /// The object.
    pub object: Value,
    /// Notes who owns which field; without it managed fields stay as they are.
    pub owners: Option<Owners<'a>>,
    /// Keys that came twice in the text.
    pub duplicates: Vec<String>,
    /// What to do about unknown fields.
    pub field_validation: FieldValidation,
}

impl std::fmt::Debug for Submission<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {:?}: {}", self.kind.kind, self.namespace, self.object)
    }
}

/// Who owns which field: given the object as it was sent with its defaults, in the version in which it was sent, the
/// list of its managed fields.
pub type Owners<'a> = &'a dyn Fn(&Value) -> Option<Value>;

/// What the server gives a new object.
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// The new object's uid.
    pub uid: &'a str,
    /// Five characters for a generated name.
    pub suffix: &'a str,
}

/// An object that may be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct Admitted {
    /// The object in the version in which it is stored.
    pub object: Value,
    /// What the sender should know.
    pub warnings: Vec<String>,
}

/// Judges a request.
///
/// # Errors
/// The rejection names every field that is wrong.
pub fn admit(
    submission: Submission<'_>,
    operation: Operation<'_>,
    identity: Identity<'_>,
    context: &Context<'_>,
) -> Result<Admitted, Rejection> {
    walk(submission, operation, identity, context).map_err(Rejection::bounded)
}

fn walk(
    submission: Submission<'_>,
    operation: Operation<'_>,
    identity: Identity<'_>,
    context: &Context<'_>,
) -> Result<Admitted, Rejection> {
    let kind = submission.kind;
    let mut warnings = Vec::new();
    let namespace = submission.namespace;
    let owners = submission.owners;
    let mut object = shape(submission, &mut warnings)?;
    apply_defaults(table(), kind.object, &mut object);
    let object = versions::to_stored(kind, object);
    let stored = versions::stored_kind(kind);
    let request =
        Request { kind: stored, sent: kind, namespace, object, owners, operation, identity, context };
    let (object, more) = kinds::dispatch(request)?;
    warnings.extend(more);
    Ok(Admitted { object, warnings })
}

/// How many unknown fields an answer names, and how much of each path, so that a hostile object gets no huge answer.
const COMPLAINTS_MAX: usize = 100;
const SHOWN_CHARS_MAX: usize = 200;

/// Checks that the value is an object of the kind, and brings it into the kind's shape.
fn shape(submission: Submission<'_>, warnings: &mut Vec<String>) -> Result<Value, Rejection> {
    let kind = submission.kind;
    let Value::Object(mut fields) = submission.object else {
        return Err(Rejection::BadRequest(format!("the body is not an object; hint: send a {}", kind.kind)));
    };
    for (name, expected) in [("apiVersion", &kind.api_version), ("kind", &kind.kind)] {
        match fields.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) if text.is_empty() || text == expected => {}
            Some(other) => {
                let message = format!("{name} is {other} and must be {expected:?} for this resource");
                return Err(Rejection::BadRequest(message));
            }
        }
        fields.insert(name.to_owned(), Value::String(expected.clone()));
    }
    let mut oddities: Vec<Oddity> = Vec::new();
    let object = conform(table(), kind.object, Value::Object(fields), &mut oddities)
        .map_err(|mismatch: Mismatch| Rejection::BadRequest(format!("{}: {mismatch}", kind.kind)))?;
    let unknown = oddities.iter().map(|oddity| format!("unknown field {:?}", shown(&oddity.path)));
    let twice = submission.duplicates.iter().map(|path| format!("duplicate field {:?}", shown(path)));
    let complaints: Vec<String> = unknown.chain(twice).take(COMPLAINTS_MAX).collect();
    match submission.field_validation {
        FieldValidation::Strict if !complaints.is_empty() => {
            Err(Rejection::BadRequest(format!("strict decoding error: {}", complaints.join(", "))))
        }
        FieldValidation::Warn => {
            warnings.extend(complaints);
            Ok(object)
        }
        FieldValidation::Ignore | FieldValidation::Strict => Ok(object),
    }
}

/// The beginning of a path that somebody made up.
fn shown(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// A request whose object has the right shape.
pub(crate) struct Request<'a> {
    pub kind: &'a Kind,
    pub sent: &'a Kind,
    pub namespace: &'a str,
    pub object: Value,
    pub owners: Option<Owners<'a>>,
    pub operation: Operation<'a>,
    pub identity: Identity<'a>,
    pub context: &'a Context<'a>,
}

/// Runs the rules of the kind `T`.
pub(crate) fn judge<T: Admit>(mut request: Request<'_>) -> Result<(Value, Vec<String>), Rejection> {
    let context = request.context;
    let mut object: T = readable(T::read_value(&std::mem::take(&mut request.object)))?;
    check_namespace(object.metadata_mut(), request.namespace, request.kind.scope)?;
    if let Operation::Update(old) | Operation::UpdateStatus(old) = request.operation
        && object.metadata().name.is_empty()
    {
        old["metadata"]["name"].as_str().unwrap_or_default().clone_into(&mut object.metadata_mut().name);
    }
    let mut warnings: Vec<String> =
        metadata::drop_repeated_owners(object.metadata_mut()).into_iter().collect();
    object.set_defaults(context);
    let owned = note_owners(&mut object, &request);
    let mut causes = Causes::default();
    match request.operation {
        Operation::Create => {
            identify(object.metadata_mut(), &request.identity, context);
            object.mutate(None, context)?;
            object.prepare_create(context);
            if T::COUNTS_GENERATIONS {
                object.metadata_mut().generation = 1;
            }
            metadata::validate(object.metadata(), request.kind.scope, T::NAME_FORM, &mut causes);
            object.validate(context, &mut causes);
        }
        Operation::Update(old) => {
            let old: T = readable(T::read_value(old))?;
            inherit(object.metadata_mut(), old.metadata(), unconditional::<T>(request.sent));
            object.mutate(Some(&old), context)?;
            object.prepare_update(&old, context);
            if T::COUNTS_GENERATIONS && !object.same_spec(&old) {
                object.metadata_mut().generation = object.metadata().generation.saturating_add(1);
            }
            metadata::validate(object.metadata(), request.kind.scope, T::NAME_FORM, &mut causes);
            metadata::validate_update(object.metadata(), old.metadata(), &mut causes);
            object.validate_update(&old, context, &mut causes);
        }
        Operation::UpdateStatus(old) => {
            let old: T = readable(T::read_value(old))?;
            inherit(object.metadata_mut(), old.metadata(), unconditional::<T>(request.sent));
            if T::STATUS_KEEPS_METADATA {
                keep_for_status(object.metadata_mut(), old.metadata());
            }
            object.prepare_status(&old, context);
            metadata::validate_update(object.metadata(), old.metadata(), &mut causes);
            object.validate_status(&old, context, &mut causes);
        }
    }
    if !causes.is_empty() {
        return Err(Rejection::Invalid(causes.into_vec()));
    }
    if !matches!(request.operation, Operation::UpdateStatus(_)) {
        object.consent(context)?;
    }
    warnings.extend(object.warnings());
    if request.operation == Operation::Create {
        warnings.extend(object.warnings_on_create());
    }
    Ok((write(&object, owned, request.kind), warnings))
}

/// Owners are noted before the server and the kind's rules add anything, because that belongs to nobody. No rule looks at
/// them, so they wait beside the object, which spares writing and reading them once more.
fn note_owners<T: Admit>(object: &mut T, request: &Request<'_>) -> Option<Value> {
    let owners = request.owners?;
    let shown = versions::from_stored(request.sent, write(object, None, request.kind));
    object.metadata_mut().managed_fields = None;
    owners(&shown)
}

/// Quirk of the first version of taint rules: only later versions insist on a resource version.
fn unconditional<T: Admit>(sent: &Kind) -> bool {
    T::UNCONDITIONAL_UPDATE || (sent.kind == "DeviceTaintRule" && sent.version() != "v1")
}

fn readable<T: Admit>(read: Result<T, serde_json::Error>) -> Result<T, Rejection> {
    read.map_err(|error| Rejection::BadRequest(format!("cannot read a {}: {error}", T::KIND)))
}

fn write<T: Admit>(object: &T, owned: Option<Value>, kind: &Kind) -> Value {
    let mut value = object.write_value();
    if let Some(owned) = owned {
        value["metadata"]["managedFields"] = owned;
    }
    fill(table(), kind.object, &mut value);
    value
}

fn check_namespace(meta: &mut ObjectMeta, namespace: &str, scope: Scope) -> Result<(), Rejection> {
    if scope == Scope::Cluster {
        // A request to no namespace wins over what the object says.
        meta.namespace.clear();
        return Ok(());
    }
    if meta.namespace.is_empty() {
        namespace.clone_into(&mut meta.namespace);
    }
    if meta.namespace != namespace {
        return Err(Rejection::WrongNamespace(format!(
            "the object's namespace {:?} is not the request's {namespace:?}",
            meta.namespace
        )));
    }
    Ok(())
}

/// What the server alone decides about a new object.
fn identify(meta: &mut ObjectMeta, identity: &Identity<'_>, context: &Context<'_>) {
    const PREFIX_MAX: usize = 58;
    if meta.name.is_empty() && !meta.generate_name.is_empty() {
        let end = meta.generate_name.floor_char_boundary(PREFIX_MAX);
        meta.name = format!("{}{}", &meta.generate_name[..end], identity.suffix);
    }
    identity.uid.clone_into(&mut meta.uid);
    meta.creation_timestamp = Some(context.time());
    meta.deletion_timestamp = None;
    meta.deletion_grace_period_seconds = None;
    meta.self_link.clear();
    meta.resource_version.clear();
    meta.generation = 0;
}

/// What no update can change.
fn inherit(meta: &mut ObjectMeta, old: &ObjectMeta, unconditional: bool) {
    meta.generation = old.generation;
    if meta.uid.is_empty() {
        old.uid.clone_into(&mut meta.uid);
    }
    if meta.name.is_empty() {
        old.name.clone_into(&mut meta.name);
    }
    if unconditional && matches!(meta.resource_version.as_str(), "" | "0") {
        old.resource_version.clone_into(&mut meta.resource_version);
    }
    meta.creation_timestamp = old.creation_timestamp;
    if old.deletion_timestamp.is_some() {
        meta.deletion_timestamp = old.deletion_timestamp;
    }
    if meta.deletion_grace_period_seconds.is_none() {
        meta.deletion_grace_period_seconds = old.deletion_grace_period_seconds;
    }
    meta.self_link.clear();
}

/// Through `/status` metadata stays as it was.
fn keep_for_status(meta: &mut ObjectMeta, old: &ObjectMeta) {
    meta.deletion_timestamp = old.deletion_timestamp;
    meta.generation = old.generation;
    meta.labels.clone_from(&old.labels);
    meta.annotations.clone_from(&old.annotations);
    meta.finalizers.clone_from(&old.finalizers);
    meta.owner_references.clone_from(&old.owner_references);
}
