//! One recorded request, put to admission.

use admission::{
    Admitted, Context, FieldValidation, Identity, Operation, Rejection, Submission, admit, from_stored,
    stored_kind,
};
use anyhow::Context as _;
use gates::{Gate, Gates};
use model::timestamp::Timestamp;
use schema::{Document, Kind, Scope, parse, parse_yaml, table};
use serde_json::{Value, json};
use store::patch::{PatchError, json_patch, merge_patch, strategic_merge_patch};

use super::expectation::{Variables, put};
use super::shelf::{Key, Shelf};

/// What a request gets.
#[derive(Debug)]
pub(super) enum RequestOutcome {
    /// The object, or a status for deletions.
    Accepted { code: u16, body: Value },
    /// Why not.
    Refused { code: u16, causes: Vec<[String; 2]>, message: String },
}

impl RequestOutcome {
    pub(super) fn code(&self) -> u16 {
        match self {
            Self::Accepted { code, .. } | Self::Refused { code, .. } => *code,
        }
    }

    pub(super) fn body(&self) -> Value {
        match self {
            Self::Accepted { body, .. } => body.clone(),
            Self::Refused { message, .. } => json!({"message": message}),
        }
    }

    fn refused(code: u16, message: impl Into<String>) -> Self {
        Self::Refused { code, causes: Vec::new(), message: message.into() }
    }
}

impl From<Rejection> for RequestOutcome {
    fn from(rejection: Rejection) -> Self {
        let message = rejection.to_string();
        let code = rejection.code();
        let causes = match rejection {
            Rejection::Invalid(causes) => {
                causes.into_iter().map(|cause| [cause.reason.as_str().to_owned(), cause.field]).collect()
            }
            _ => Vec::new(),
        };
        Self::Refused { code, causes, message }
    }
}

impl From<PatchError> for RequestOutcome {
    fn from(error: PatchError) -> Self {
        let code = match error {
            PatchError::Malformed(_) => 400,
            PatchError::Unfit(_) => 422,
            PatchError::TooManyOperations { .. } => 413,
        };
        Self::refused(code, error.to_string())
    }
}

/// Where a request goes.
struct Target<'a> {
    kind: &'a Kind,
    namespace: String,
    name: Option<String>,
    status: bool,
}

impl Target<'static> {
    fn read(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(*name), None),
            [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
            _ => return None,
        };
        let kind = table().resource(group, version, plural)?;
        let placed = (kind.scope == Scope::Namespaced) != namespace.is_empty();
        let served = match subresource {
            None => true,
            Some("status") => kind.status,
            Some(_) => false,
        };
        (placed && served).then(|| Self {
            kind,
            namespace: namespace.to_owned(),
            name: name.map(str::to_owned),
            status: subresource.is_some(),
        })
    }

    fn key(&self, name: &str) -> Key {
        let stored = stored_kind(self.kind);
        (format!("{}/{}", stored.group(), stored.plural), self.namespace.clone(), name.to_owned())
    }
}

/// Performs a step of a case.
pub(super) fn perform(
    shelf: &mut Shelf,
    step: &Value,
    variables: &Variables,
) -> anyhow::Result<RequestOutcome> {
    let path = variables.fill_string(step["path"].as_str().context("a step has a path")?);
    let Some(target) = Target::read(&path) else {
        return Ok(RequestOutcome::refused(404, format!("{path} is not served")));
    };
    let method = step["method"].as_str().context("a step has a method")?;
    let query = &step["query"];
    if query["dryRun"].as_str().is_some_and(|text| text != "All") {
        let causes = vec![["FieldValueNotSupported".to_owned(), "dryRun".to_owned()]];
        return Ok(RequestOutcome::Refused { code: 422, causes, message: "dryRun must be All".to_owned() });
    }
    if query["fieldValidation"].as_str().is_some_and(|text| !["", "Ignore", "Warn", "Strict"].contains(&text))
    {
        let causes = vec![["FieldValueNotSupported".to_owned(), "fieldValidation".to_owned()]];
        return Ok(RequestOutcome::Refused {
            code: 422,
            causes,
            message: "unknown fieldValidation".to_owned(),
        });
    }
    let body = match body(step, variables)? {
        Ok(body) => body,
        Err(answer) => return Ok(answer),
    };
    let request = Sent {
        target,
        body,
        query,
        content_type: step["headers"]["content-type"].as_str().unwrap_or_default(),
    };
    Ok(match method {
        "GET" => request.get(shelf),
        "POST" => request.create(shelf),
        "PUT" => request.replace(shelf),
        "PATCH" => request.patch(shelf),
        "DELETE" => request.delete(shelf),
        other => anyhow::bail!("method {other} is not replayed"),
    })
}

fn body(step: &Value, variables: &Variables) -> anyhow::Result<Result<Document, RequestOutcome>> {
    let document = |value| Ok(Ok(Document { value, duplicates: Vec::new() }));
    if let Some(from) = step.get("body_from") {
        let earlier = from["step"].as_str().context("body_from names a step")?;
        let mut value = variables.answer(earlier).cloned().context("body_from names an earlier step")?;
        for (path, new) in from["set"].as_object().into_iter().flatten() {
            put(&mut value, path, variables.fill(new));
        }
        return document(value);
    }
    let yaml = step["headers"]["content-type"].as_str().is_some_and(|kind| kind.contains("yaml"));
    let text = match (step.get("body"), step["body_raw"].as_str()) {
        (Some(body), _) => variables.fill(body).to_string(),
        (None, Some(raw)) => variables.fill_string(raw),
        (None, None) => return document(Value::Null),
    };
    let read = if yaml {
        parse_yaml(&text).map_err(|error| error.to_string())
    } else {
        parse(text.as_bytes()).map_err(|error| error.to_string())
    };
    Ok(read.map_err(|message| RequestOutcome::refused(400, message)))
}

struct Sent<'a> {
    target: Target<'static>,
    body: Document,
    query: &'a Value,
    content_type: &'a str,
}

impl Sent<'_> {
    fn serve(&self, code: u16, stored: Value) -> RequestOutcome {
        RequestOutcome::Accepted { code, body: from_stored(self.target.kind, stored) }
    }

    fn missing(&self) -> RequestOutcome {
        RequestOutcome::refused(
            404,
            format!("{} is not there", self.target.name.as_deref().unwrap_or_default()),
        )
    }

    fn found(&self, shelf: &Shelf) -> Option<(Key, Value)> {
        let key = self.target.key(self.target.name.as_deref()?);
        shelf.get(&key).cloned().map(|object| (key, object))
    }

    fn judge(
        &self,
        shelf: &Shelf,
        document: Document,
        operation: Operation<'_>,
    ) -> Result<Admitted, Rejection> {
        let gates = Gates::all_on().with(Gate::DRAControlPlaneController, false);
        let context = Context {
            now: Timestamp::from_micros(1_790_000_000_000_000),
            gates: &gates,
            surroundings: shelf,
        };
        let field_validation = match self.query["fieldValidation"].as_str() {
            Some("Strict") => FieldValidation::Strict,
            Some("Ignore") => FieldValidation::Ignore,
            _ => FieldValidation::Warn,
        };
        let submission = Submission {
            kind: self.target.kind,
            namespace: &self.target.namespace,
            object: document.value,
            owners: None,
            duplicates: document.duplicates,
            field_validation,
        };
        let identity = Identity { uid: "01234567-89ab-cdef-0123-456789abcdef", suffix: "x7k2p" };
        admit(submission, operation, identity, &context)
    }

    fn get(&self, shelf: &Shelf) -> RequestOutcome {
        match self.found(shelf) {
            Some((_, object)) => self.serve(200, object),
            None => self.missing(),
        }
    }

    fn create(mut self, shelf: &mut Shelf) -> RequestOutcome {
        let document =
            std::mem::replace(&mut self.body, Document { value: Value::Null, duplicates: Vec::new() });
        let admitted = match self.judge(shelf, document, Operation::Create) {
            Ok(admitted) => admitted,
            Err(rejection) => return rejection.into(),
        };
        let name = admitted.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = self.target.key(&name);
        if shelf.get(&key).is_some() {
            return RequestOutcome::refused(409, format!("{name} is already there"));
        }
        if self.query["dryRun"].is_string() {
            return self.serve(201, admitted.object);
        }
        let stored = shelf.put(key, admitted.object);
        self.serve(201, stored)
    }

    fn replace(mut self, shelf: &mut Shelf) -> RequestOutcome {
        let Some((key, old)) = self.found(shelf) else { return self.missing() };
        let document =
            std::mem::replace(&mut self.body, Document { value: Value::Null, duplicates: Vec::new() });
        let sent = &document.value["metadata"];
        if sent["name"].as_str().is_some_and(|name| Some(name) != self.target.name.as_deref()) {
            return RequestOutcome::refused(400, "the object's name is not the request's");
        }
        self.update(shelf, key, &old, document)
    }

    fn update(&self, shelf: &mut Shelf, key: Key, old: &Value, document: Document) -> RequestOutcome {
        let revision = document.value["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        match revision {
            "" | "0" => {}
            text if text.parse::<u64>().is_err() => {
                return RequestOutcome::refused(500, "the resource version is no number");
            }
            text if Some(text) != old["metadata"]["resourceVersion"].as_str() => {
                return RequestOutcome::refused(409, "the object was changed meanwhile");
            }
            _ => {}
        }
        let operation =
            if self.target.status { Operation::UpdateStatus(old) } else { Operation::Update(old) };
        match self.judge(shelf, document, operation) {
            Err(rejection) => rejection.into(),
            Ok(admitted) if admitted.object == *old => self.serve(200, admitted.object),
            Ok(admitted) => {
                let meta = &admitted.object["metadata"];
                if meta["deletionTimestamp"].is_string() && meta.get("finalizers").is_none() {
                    shelf.remove(&key);
                    return self.serve(200, admitted.object);
                }
                let stored = shelf.put(key, admitted.object);
                self.serve(200, stored)
            }
        }
    }

    fn patch(mut self, shelf: &mut Shelf) -> RequestOutcome {
        let Some((key, old)) = self.found(shelf) else { return self.missing() };
        let Document { value: patch, duplicates } =
            std::mem::replace(&mut self.body, Document { value: Value::Null, duplicates: Vec::new() });
        let mut object = from_stored(self.target.kind, old.clone());
        let kind = self.target.kind;
        let patched = match self.content_type {
            "application/json-patch+json" => json_patch(&mut object, &patch),
            "application/merge-patch+json" => {
                merge_patch(&mut object, patch);
                Ok(())
            }
            // Ownership of fields is the store's business; what is applied is merged like a strategic patch.
            _ => strategic_merge_patch(table(), kind.object, &mut object, patch),
        };
        if let Err(error) = patched {
            return error.into();
        }
        self.update(shelf, key, &old, Document { value: object, duplicates })
    }

    fn delete(&self, shelf: &mut Shelf) -> RequestOutcome {
        let Some((key, mut old)) = self.found(shelf) else { return self.missing() };
        if old["metadata"].get("finalizers").is_some() {
            if old["metadata"].get("deletionTimestamp").is_none() {
                old["metadata"]["deletionTimestamp"] = json!("2026-11-15T00:00:00Z");
                old["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                old = shelf.put(key, old);
            }
            return self.serve(200, old);
        }
        shelf.remove(&key);
        self.serve(200, old)
    }
}
