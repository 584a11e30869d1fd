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

/// In which of the media types that are served a client prefers its answer: the first of its clauses with the greatest
/// weight that fits one of them.
pub(crate) fn preferred<'t>(header: Option<&str>, served: &[&'t str]) -> Option<&'t str> {
    let header = header.filter(|header| !header.trim().is_empty()).unwrap_or("*/*");
    let mut clauses: Vec<(f64, &str)> = header.split(',').filter_map(weighed).collect();
    clauses.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    clauses.iter().find_map(|(_, wanted)| {
        served.iter().copied().find(|served| match wanted.strip_suffix('*') {
            Some("*/") => true,
            Some(prefix) => served.starts_with(prefix),
            None => served == wanted,
        })
    })
}

/// A clause without its parameters, and its weight; none if the client wants it not at all.
fn weighed(clause: &str) -> Option<(f64, &str)> {
    let mut parts = clause.split(';').map(str::trim);
    let wanted = parts.next()?;
    let weight = parts.find_map(|part| part.strip_prefix("q=")).map_or(Ok(1.0), str::parse).ok()?;
    (weight > 0.0).then_some((weight, wanted))
}

/// The media type of a request's body, without its parameters.
pub(crate) fn media_type(header: Option<&str>) -> &str {
    header.and_then(|header| header.split(';').next()).map_or("", str::trim)
}

#[cfg(test)]
mod tests {
    use super::{Form, Media, accepted, media_type, preferred};

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
    fn of_media_types_the_one_of_greatest_weight_is_preferred() {
        let choose =
            |header: &str| preferred(Some(header), &["application/json", "application/x@v1+protobuf"]);
        assert_eq!(preferred(None, &["application/json"]), Some("application/json"));
        assert_eq!(choose("*/*"), Some("application/json"));
        assert_eq!(choose("application/*"), Some("application/json"));
        assert_eq!(choose("application/x@v1+protobuf"), Some("application/x@v1+protobuf"));
        assert_eq!(
            choose("application/json;q=0.5, application/x@v1+protobuf"),
            Some("application/x@v1+protobuf")
        );
        assert_eq!(choose("text/html, application/json;q=0.1"), Some("application/json"));
        assert_eq!(choose("application/json;q=0, text/html"), None);
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
