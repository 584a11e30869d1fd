//! Gives stored objects the form that was asked for: another version, rows, or metadata alone.

use admission::{from_stored, stored_kind};
use schema::Kind;
use serde_json::Value;
use store::StoredObject;
use tables::{MetaVersion, TableOptions};

use crate::negotiate::{Accepted, Form};
use crate::registry::Registry;
use crate::respond::{self, HttpResponse};
use crate::status::Failure;

/// The object in the version that was asked for.
pub(crate) fn value_of(kind: &Kind, stored: &StoredObject) -> Value {
    let stored_as = stored_kind(kind);
    from_stored(kind, stored.value(&stored_as.api_version, &stored_as.kind))
}

/// The version that was asked for is the one that is stored.
pub(crate) fn is_stored(kind: &Kind) -> bool {
    stored_kind(kind).api_version == kind.api_version
}

/// One object as an answer.
pub(crate) fn object(
    code: u16,
    kind: &Kind,
    stored: &StoredObject,
    accepted: Accepted,
    query: &crate::route::Query,
) -> Result<HttpResponse, Failure> {
    if accepted == Accepted::PLAIN && is_stored(kind) && !query.flag("pretty") {
        let mut text = Vec::with_capacity(2048);
        stored.write_object(&kind.api_version, &kind.kind, &mut text);
        return Ok(respond::plain(code, respond::JSON, text));
    }
    form(code, kind, &value_of(kind, stored), accepted, query)
}

/// One object that is not stored, such as the answer of a dry run.
pub(crate) fn form(
    code: u16,
    kind: &Kind,
    object: &Value,
    accepted: Accepted,
    query: &crate::route::Query,
) -> Result<HttpResponse, Failure> {
    let body = match accepted.form {
        Form::Object => object.clone(),
        Form::Table(version) => {
            let version = version.rsplit('/').next().and_then(MetaVersion::parse).unwrap_or_default();
            let options = TableOptions { version, include: include(query)?, headers: true };
            tables::table_of_one(kind, object, Registry::now(), options)
        }
        Form::Partial => tables::partial(object, MetaVersion::V1),
        Form::PartialList => return Err(not_acceptable()),
    };
    Ok(respond::value(code, &body, accepted.media, query.flag("pretty")))
}

pub(crate) fn not_acceptable() -> Failure {
    Failure::new(406, "NotAcceptable", "only the following media types are accepted: application/json")
}

/// Which part of each object a table's rows carry.
pub(crate) fn include(query: &crate::route::Query) -> Result<tables::IncludeObject, Failure> {
    let parsed = tables::IncludeObject::parse(query.get("includeObject"));
    parsed.ok_or_else(|| Failure::bad_request("includeObject must be None, Metadata or Object"))
}
