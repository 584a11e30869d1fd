//! URLs, parsed as leniently and as strictly as the reference does.

use std::fmt;

use crate::value::map::{Entries, Map};
use crate::value::{Fault, Outcome, Value};

/// A parsed URL.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Url {
    scheme: String,
    opaque: String,
    /// The user and, if there is one, the password.
    user: Option<(Vec<u8>, Option<Vec<u8>>)>,
    host: Vec<u8>,
    path: Vec<u8>,
    /// The path as written, if escaping the path gives another text.
    raw_path: String,
    query: String,
    force_query: bool,
    omit_host: bool,
    fragment: Vec<u8>,
    raw_fragment: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Path,
    Host,
    Zone,
    User,
    Query,
    Fragment,
}

fn should_escape(byte: u8, part: Part) -> bool {
    if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
        return false;
    }
    match part {
        Part::Path => !matches!(byte, b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'@'),
        Part::Host | Part::Zone => !matches!(
            byte,
            b'!' | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'['
                | b']'
                | b'<'
                | b'>'
                | b'"'
        ),
        Part::User => !matches!(byte, b'$' | b'&' | b'+' | b',' | b';' | b'='),
        Part::Query => true,
        Part::Fragment => !matches!(
            byte,
            b'$' | b'&' | b'+' | b',' | b'/' | b':' | b';' | b'=' | b'?' | b'@' | b'!' | b'(' | b')' | b'*'
        ),
    }
}

fn escape(bytes: &[u8], part: Part) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        if should_escape(byte, part) {
            out.push_str(&format!("%{byte:02X}"));
        } else {
            out.push(char::from(byte));
        }
    }
    out
}

fn hex(byte: Option<&u8>) -> Option<u8> {
    byte.and_then(|byte| char::from(*byte).to_digit(16)).map(|digit| digit as u8)
}

fn unescape(text: &str, part: Part) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => {
                let value = hex(bytes.get(at + 1))? << 4 | hex(bytes.get(at + 2))?;
                let percent = &bytes[at..at + 3] == b"%25";
                if part == Part::Host && value < 0x80 && !percent {
                    return None;
                }
                if part == Part::Zone && !percent && value != b' ' && should_escape(value, Part::Host) {
                    return None;
                }
                out.push(value);
                at += 2;
            }
            b'+' if part == Part::Query => out.push(b' '),
            byte => {
                if matches!(part, Part::Host | Part::Zone) && byte < 0x80 && should_escape(byte, part) {
                    return None;
                }
                out.push(byte);
            }
        }
        at += 1;
    }
    Some(out)
}

fn scheme(text: &str) -> Option<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at > 0 => return Some((&text[..at], &text[at + 1..])),
            b':' => return None,
            _ => return Some(("", text)),
        }
    }
    Some(("", text))
}

fn is_port(text: &str) -> bool {
    text.is_empty()
        || text.strip_prefix(':').is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
}

fn parse_host(scheme: &str, host: &str) -> Option<Vec<u8>> {
    match host.rfind('[') {
        Some(0) => {
            let close = host.rfind(']')?;
            let port = &host[close + 1..];
            if !is_port(port) {
                return None;
            }
            let inner = &host[1..close];
            let name = match inner.find("%25") {
                Some(zone) => {
                    [unescape(&inner[..zone], Part::Host)?, unescape(&inner[zone..], Part::Zone)?].concat()
                }
                None => unescape(inner, Part::Host)?,
            };
            let text = String::from_utf8(name.clone()).ok()?;
            let address = text.split('%').next().unwrap_or(&text);
            // Inside brackets only an IPv6 address may stand, with or without a zone.
            let is_address = address.contains(':') && address.parse::<std::net::Ipv6Addr>().is_ok();
            if !is_address || text.ends_with('%') {
                return None;
            }
            Some([b"[".as_slice(), &name, b"]", port.as_bytes()].concat())
        }
        Some(_) => None,
        None => {
            if let Some(first) = host.find(':') {
                let last = host.rfind(':').unwrap_or(first);
                let strict = matches!(scheme, "http" | "https");
                if !is_port(&host[if strict { first } else { last }..]) {
                    return None;
                }
            }
            unescape(host, Part::Host)
        }
    }
}

fn is_userinfo(text: &str) -> bool {
    text.bytes().all(|byte| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'-' | b'.'
                    | b'_'
                    | b':'
                    | b'~'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
                    | b'%'
                    | b'@'
            )
    })
}

impl Url {
    /// A URL as a text of its own.
    pub(crate) fn parse(text: &str) -> Option<Url> {
        Url::parse_without_fragment(text, true)?;
        let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Url::parse_without_fragment(rest, false)?;
        if !fragment.is_empty() {
            url.fragment = unescape(fragment, Part::Fragment)?;
            url.raw_fragment = fragment.to_owned();
        }
        Some(url)
    }

    /// Whether the text can be requested.
    pub(crate) fn is_request(text: &str) -> bool {
        Url::parse_without_fragment(text, true).is_some()
    }

    fn parse_without_fragment(text: &str, request: bool) -> Option<Url> {
        if text.bytes().any(|byte| byte < b' ' || byte == 0x7f) || (text.is_empty() && request) {
            return None;
        }
        let mut url = Url::default();
        if text == "*" {
            url.path = b"*".to_vec();
            return Some(url);
        }
        let (scheme, mut rest) = scheme(text)?;
        url.scheme = scheme.to_lowercase();
        if rest.ends_with('?') && rest.matches('?').count() == 1 {
            url.force_query = true;
            rest = &rest[..rest.len() - 1];
        } else if let Some((path, query)) = rest.split_once('?') {
            url.query = query.to_owned();
            rest = path;
        }
        if !rest.starts_with('/') {
            if !url.scheme.is_empty() {
                url.opaque = rest.to_owned();
                return Some(url);
            }
            if request || rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return None;
            }
        }
        let relative = !request && !rest.starts_with("///");
        if (!url.scheme.is_empty() || relative) && rest.starts_with("//") {
            let authority = &rest[2..];
            let end = authority.find('/').unwrap_or(authority.len());
            rest = &authority[end..];
            url.set_authority(&authority[..end])?;
        } else if !url.scheme.is_empty() && rest.starts_with('/') {
            url.omit_host = true;
        }
        url.path = unescape(rest, Part::Path)?;
        if escape(&url.path, Part::Path) != rest {
            url.raw_path = rest.to_owned();
        }
        Some(url)
    }

    fn set_authority(&mut self, authority: &str) -> Option<()> {
        let Some((user, host)) = authority.rsplit_once('@') else {
            self.host = parse_host(&self.scheme, authority)?;
            return Some(());
        };
        self.host = parse_host(&self.scheme, host)?;
        if !is_userinfo(user) {
            return None;
        }
        self.user = Some(match user.split_once(':') {
            Some((name, password)) => (unescape(name, Part::User)?, Some(unescape(password, Part::User)?)),
            None => (unescape(user, Part::User)?, None),
        });
        Some(())
    }

    fn escaped_path(&self) -> String {
        let valid = self.raw_path.bytes().all(|byte| {
            matches!(
                byte,
                b'!' | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
                    | b':'
                    | b'@'
                    | b'['
                    | b']'
                    | b'%'
            ) || !should_escape(byte, Part::Path)
        });
        if !self.raw_path.is_empty() && valid {
            return self.raw_path.clone();
        }
        if self.path == b"*" { "*".to_owned() } else { escape(&self.path, Part::Path) }
    }

    /// The name and the port of the host.
    fn host_and_port(&self) -> (String, String) {
        let whole = lossy(&self.host);
        let (host, port) = match whole.rfind(':') {
            Some(colon) if is_port(&whole[colon..]) => (&whole[..colon], &whole[colon + 1..]),
            _ => (whole.as_str(), ""),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        (bare.to_owned(), port.to_owned())
    }

    fn query_values(&self) -> Vec<(String, Vec<String>)> {
        let mut values: Vec<(String, Vec<String>)> = Vec::new();
        for pair in self.query.split('&').filter(|pair| !pair.is_empty() && !pair.contains(';')) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (Some(key), Some(value)) = (unescape(key, Part::Query), unescape(value, Part::Query)) else {
                continue;
            };
            let (key, value) = (lossy(&key), lossy(&value));
            match values.iter_mut().find(|(known, _)| *known == key) {
                Some((_, list)) => list.push(value),
                None => values.push((key, vec![value])),
            }
        }
        values
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl fmt::Display for Url {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        if !self.scheme.is_empty() {
            text.push_str(&self.scheme);
            text.push(':');
        }
        if self.opaque.is_empty() {
            let has_authority = !self.scheme.is_empty() || !self.host.is_empty() || self.user.is_some();
            let omitted = self.omit_host && self.host.is_empty() && self.user.is_none();
            if has_authority && !omitted {
                if !self.host.is_empty() || !self.path.is_empty() || self.user.is_some() {
                    text.push_str("//");
                }
                if let Some((name, password)) = &self.user {
                    text.push_str(&escape(name, Part::User));
                    if let Some(password) = password {
                        text.push(':');
                        text.push_str(&escape(password, Part::User));
                    }
                    text.push('@');
                }
                text.push_str(&escape(&self.host, Part::Host));
            }
            let path = self.escaped_path();
            if !path.is_empty() && !path.starts_with('/') && !self.host.is_empty() {
                text.push('/');
            }
            text.push_str(&path);
        } else {
            text.push_str(&self.opaque);
        }
        if self.force_query || !self.query.is_empty() {
            text.push('?');
            text.push_str(&self.query);
        }
        if !self.fragment.is_empty() {
            text.push('#');
            text.push_str(&self.raw_fragment);
        }
        write!(out, "{text}")
    }
}

/// The functions on URLs.
pub(crate) fn function<'a>(overload: &str, args: &[Value<'a>]) -> Outcome<'a> {
    if let Value::String(text) = &args[0] {
        return match overload {
            "is_url_string" => Ok(Value::Bool(Url::is_request(text))),
            _ => Url::parse(text)
                .map(|url| Value::Url(url.into()))
                .ok_or_else(|| Fault::invalid(format!("{:?} is not a URL", &**text))),
        };
    }
    let Value::Url(url) = &args[0] else { return Err(Fault::no_such_overload()) };
    Ok(match overload {
        "url_get_scheme" => Value::text(url.scheme.as_str()),
        "url_get_host" => Value::text(lossy(&url.host)),
        "url_get_hostname" => Value::text(url.host_and_port().0),
        "url_get_port" => Value::text(url.host_and_port().1),
        "url_get_escaped_path" => Value::text(url.escaped_path()),
        _ => {
            let mut entries = Entries::default();
            for (key, values) in url.query_values() {
                entries.set(Value::text(key), Value::list(values.into_iter().map(Value::text).collect()));
            }
            Value::Map(Map::plain(entries))
        }
    })
}
