//! In which form an answer is sent: the `Accept` header.

use crate::status::Failure;

/// The form of an answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The object or list itself.
    Object,
    /// Rows for people to read, in this version of meta.k8s.io.
    Table(&'static str),
    /// Metadata alone.
    Partial,
    /// Metadata alone, of a list.
    PartialList,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub form: Form,
    pub yaml: bool,
}

/// Picks the first form of an `Accept` header that is served; without a header the object itself.
pub(crate) fn accepted(header: Option<&str>) -> Result<Accepted, Failure> {
    let object = Accepted { form: Form::Object, yaml: false };
    let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Ok(object) };
    let found = header.split(',').filter_map(clause).next();
    found.ok_or_else(|| {
        let offered = "application/json, application/yaml";
        Failure::new(406, "NotAcceptable", format!("only the following media types are accepted: {offered}"))
    })
}

/// One alternative of the header, if it is served.
fn clause(text: &str) -> Option<Accepted> {
    let mut parts = text.split(';').map(str::trim);
    let yaml = match parts.next()? {
        "application/json" | "*/*" => false,
        "application/yaml" => true,
        _ => return None,
    };
    let (mut shape, mut group, mut version) = (None, None, None);
    for part in parts {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        match name {
            "as" => shape = Some(value),
            "g" => group = Some(value),
            "v" => version = Some(value),
            _ => {}
        }
    }
    let form = match (shape, group, version) {
        (None, _, _) => Form::Object,
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Form::Table("meta.k8s.io/v1"),
        (Some("Table"), Some("meta.k8s.io"), Some("v1beta1")) => Form::Table("meta.k8s.io/v1beta1"),
        (Some("PartialObjectMetadata"), Some("meta.k8s.io"), Some("v1")) => Form::Partial,
        (Some("PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => Form::PartialList,
        _ => return None,
    };
    Some(Accepted { form, yaml })
}

/// The media type of a request's body, without its parameters.
pub(crate) fn media_type(header: Option<&str>) -> &str {
    header.and_then(|header| header.split(';').next()).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::{Form, accepted, media_type};

    #[test]
    fn the_first_form_that_is_served_is_taken() {
        let form = |header: &str| {
            accepted(Some(header)).map(|accepted| accepted.form).map_err(|failure| failure.code)
        };
        assert_eq!(form("text/html,application/json"), Ok(Form::Object));
        assert_eq!(
            form("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
            Ok(Form::Table("meta.k8s.io/v1"))
        );
        assert_eq!(form("application/vnd.kubernetes.protobuf,application/json"), Ok(Form::Object));
        assert_eq!(form("application/json; charset=utf-8"), Ok(Form::Object));
        for bad in
            ["text/html", "application/*", "application/json;as=Table;v=v2;g=meta.k8s.io", "application/cbor"]
        {
            assert_eq!(form(bad), Err(406), "{bad}");
        }
        assert_eq!(media_type(Some("application/json; charset=utf-8")), "application/json");
    }
}
