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

/// In which language an answer's body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    Json,
    Yaml,
    Protobuf,
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub form: Form,
    pub media: Media,
}

impl Accepted {
    /// What is sent to those who ask for nothing in particular.
    pub(crate) const PLAIN: Self = Self { form: Form::Object, media: Media::Json };
}

/// Picks the first form of an `Accept` header that is served, with protobuf only for kinds that have that form; without a
/// header the object itself.
pub(crate) fn accepted(header: Option<&str>, protobuf: bool) -> Result<Accepted, Failure> {
    let Some(header) = header.filter(|header| !header.trim().is_empty()) else { return Ok(Accepted::PLAIN) };
    let served = |accepted: &Accepted| match accepted.media {
        Media::Json | Media::Yaml => true,
        // Rows are made of anything, which protobuf has no form for.
        Media::Protobuf => protobuf && !matches!(accepted.form, Form::Table(_)),
    };
    let found = header.split(',').filter_map(clause).find(served);
    found.ok_or_else(|| {
        let more = if protobuf { ", application/vnd.kubernetes.protobuf" } else { "" };
        let offered = format!("application/json, application/yaml{more}");
        Failure::new(406, "NotAcceptable", format!("only the following media types are accepted: {offered}"))
    })
}

/// One alternative of the header, if it is served.
fn clause(text: &str) -> Option<Accepted> {
    let mut parts = text.split(';').map(str::trim);
    let media = match parts.next()? {
        "application/json" | "*/*" => Media::Json,
        "application/yaml" => Media::Yaml,
        "application/vnd.kubernetes.protobuf" => Media::Protobuf,
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
    Some(Accepted { form, media })
}

/// The media type of a request's body, without its parameters.
pub(crate) fn media_type(header: Option<&str>) -> &str {
    header.and_then(|header| header.split(';').next()).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::{Form, Media, accepted, media_type};

    #[test]
    fn the_first_form_that_is_served_is_taken() {
        let form = |header: &str| {
            accepted(Some(header), false).map(|accepted| accepted.form).map_err(|failure| failure.code)
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

    #[test]
    fn protobuf_is_sent_where_it_has_a_form() {
        let media = |header: &str, has: bool| accepted(Some(header), has).map(|accepted| accepted.media).ok();
        let header = "application/vnd.kubernetes.protobuf,application/json";
        assert_eq!(media(header, true), Some(Media::Protobuf));
        assert_eq!(media(header, false), Some(Media::Json));
        assert_eq!(media("application/vnd.kubernetes.protobuf", false), None);
        let table = "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,application/json";
        assert_eq!(media(table, true), Some(Media::Json));
        let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
        assert_eq!(media(partial, true), Some(Media::Protobuf));
    }
}
