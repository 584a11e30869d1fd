//! Who may ask: browsers that opened a link which this server made, on this machine.
//!
//! A link has a token that works once; it is exchanged for the cookie of a session, which no script can read and no other site can
//! send. Requests that name another host are refused, since a page of elsewhere may have its name resolved to this machine.
//!
//! Invariant: tokens and sessions are compared in constant time, and there is a bound of each.

use std::collections::VecDeque;
use std::mem;

use hyper::header::{COOKIE, HOST, HeaderMap, ORIGIN};
use parking_lot::Mutex;

use crate::Sessions;

/// How many links may be open, and how many sessions; the oldest go.
const LINKS_MAX: usize = 16;
const SESSIONS_MAX: usize = 64;

/// Names by which this machine calls itself.
const HOSTS: [&str; 3] = ["127.0.0.1", "localhost", "[::1]"];

/// The links and sessions of a server.
pub(crate) struct Access {
    /// The name of the cookie. Browsers send cookies to every port of a host.
    cookie: String,
    known: Mutex<Known>,
    /// Where sessions are kept over a restart.
    kept: Option<Sessions>,
}

#[derive(Default)]
struct Known {
    links: VecDeque<String>,
    sessions: VecDeque<String>,
}

/// Why a request is refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Denied {
    /// It names another host, or comes from a page of another site.
    Elsewhere,
    /// It has no session.
    NoSession,
}

impl Access {
    pub(crate) fn new(port: u16, mut kept: Option<Sessions>) -> Access {
        let text = kept.as_mut().map(|kept| mem::take(&mut kept.text)).unwrap_or_default();
        let sessions = text.lines().filter(|line| line.len() == SECRET_LENGTH).map(str::to_owned);
        let known = Known { links: VecDeque::new(), sessions: sessions.take(SESSIONS_MAX).collect() };
        Access { cookie: format!("supercargo-page-{port}"), known: Mutex::new(known), kept }
    }

    /// A new link to this host.
    pub(crate) fn link(&self, host: &str) -> String {
        let token = secret();
        let mut known = self.known.lock();
        if known.links.len() == LINKS_MAX {
            known.links.pop_front();
        }
        known.links.push_back(token.clone());
        format!("http://{host}/?token={token}")
    }

    /// Exchanges the token of a link for the cookie of a session, as the header that sets it.
    pub(crate) fn redeem(&self, token: &str) -> Option<String> {
        let mut known = self.known.lock();
        let at = known.links.iter().position(|link| is_same(link, token))?;
        known.links.remove(at);
        if known.sessions.len() == SESSIONS_MAX {
            known.sessions.pop_front();
        }
        let session = secret();
        known.sessions.push_back(session.clone());
        if let Some(kept) = &self.kept {
            let lines: Vec<&str> = known.sessions.iter().map(String::as_str).collect();
            (kept.save)(&lines.join("\n"));
        }
        Some(format!("{}={session}; Path=/; HttpOnly; SameSite=Strict", self.cookie))
    }

    /// Judges the headers of a request.
    pub(crate) fn judge(&self, headers: &HeaderMap) -> Result<(), Denied> {
        is_from_here(headers).then_some(()).ok_or(Denied::Elsewhere)?;
        let cookies = headers.get_all(COOKIE).iter().filter_map(|header| header.to_str().ok());
        let mut values = cookies.flat_map(|header| header.split(';')).filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        let known = self.known.lock();
        let is_known = values.any(|value| known.sessions.iter().any(|session| is_same(session, value)));
        is_known.then_some(()).ok_or(Denied::NoSession)
    }
}

/// Whether a request names this machine, and comes from a page of this server or from no page.
pub(crate) fn is_from_here(headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value: &hyper::header::HeaderValue| value.to_str().ok());
    let Some(host) = text(HOST) else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    if !HOSTS.contains(&name) {
        return false;
    }
    let origin_fits = !headers.contains_key(ORIGIN) || text(ORIGIN) == Some(&*format!("http://{host}"));
    let site = headers.get("sec-fetch-site").map(|site| site.to_str().unwrap_or("cross-site"));
    // Other ports of this machine are the same site for browsers, and still not this server. A link may be opened from anywhere, and
    // shows nothing without a session.
    origin_fits && site.is_none_or(|site| matches!(site, "same-origin" | "none") || is_navigation(headers))
}

fn is_navigation(headers: &HeaderMap) -> bool {
    headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate")
}

/// Compares without telling by the time it takes how much is the same.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

/// How many letters a secret has.
const SECRET_LENGTH: usize = 32;

/// 128 bits that cannot be guessed.
fn secret() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the system has randomness");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| {
            (hyper::header::HeaderName::from_static(name), value.parse().expect("a header"))
        });
        pairs.collect()
    }

    fn token(link: &str) -> &str {
        link.split_once("token=").expect("a token").1
    }

    #[test]
    fn a_link_signs_in_once_and_its_cookie_is_for_no_script_and_no_other_site() {
        let access = Access::new(7, None);
        let link = access.link("127.0.0.1:7");
        let cookie = access.redeem(token(&link)).expect("it is new");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        assert_eq!(access.redeem(token(&link)), None, "it was used");
        let session = cookie.split(';').next().expect("a pair");
        let judged = |cookie: &str| access.judge(&headers(&[("host", "127.0.0.1:7"), ("cookie", cookie)]));
        assert_eq!(judged(session), Ok(()));
        assert_eq!(judged(&format!("other=1; {session}")), Ok(()));
        assert_eq!(judged("supercargo-page-7=0123"), Err(Denied::NoSession));
        assert_eq!(judged(&session.replace("page-7", "page-8")), Err(Denied::NoSession));
    }

    #[test]
    fn sessions_outlive_a_restart_if_they_are_kept() {
        let saved = std::sync::Arc::new(Mutex::new(String::new()));
        let save = saved.clone();
        let sessions =
            |text: String| Sessions { text, save: Box::new(move |text| save.lock().push_str(text)) };
        let access = Access::new(7, Some(sessions(String::new())));
        let cookie = access.redeem(token(&access.link("h"))).expect("it is new");
        let text = saved.lock().clone();
        let again = Access::new(7, Some(Sessions { text, save: Box::new(|_| {}) }));
        let session = cookie.split(';').next().expect("a pair");
        assert_eq!(again.judge(&headers(&[("host", "localhost:7"), ("cookie", session)])), Ok(()));
    }

    #[test]
    fn links_and_sessions_are_bounded() {
        let access = Access::new(7, None);
        let first = access.link("h");
        (0..LINKS_MAX).for_each(|_| drop(access.link("h")));
        assert_eq!(access.redeem(token(&first)), None, "it is too old");
        for _ in 0..2 * SESSIONS_MAX {
            let link = access.link("h");
            assert!(access.redeem(token(&link)).is_some());
        }
        assert_eq!(access.known.lock().sessions.len(), SESSIONS_MAX);
    }

    #[test]
    fn requests_that_name_another_host_or_come_from_another_site_are_refused() {
        let cases: [(&[(&str, &str)], bool); 13] = [
            (&[("host", "127.0.0.1:7")], true),
            (&[("host", "localhost:9000")], true),
            (&[("host", "[::1]:7")], true),
            (&[], false),
            (&[("host", "evil.example:7")], false),
            (&[("host", "127.0.0.1.evil.example")], false),
            (&[("host", "localhost:7"), ("origin", "http://localhost:7")], true),
            (&[("host", "localhost:7"), ("origin", "http://localhost:8")], false),
            (&[("host", "localhost:7"), ("origin", "null")], false),
            (&[("host", "localhost:7"), ("sec-fetch-site", "same-origin"), ("sec-fetch-mode", "cors")], true),
            (
                &[("host", "localhost:7"), ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "no-cors")],
                false,
            ),
            (&[("host", "localhost:7"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors")], false),
            (
                &[("host", "localhost:7"), ("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate")],
                true,
            ),
        ];
        for (pairs, expected) in cases {
            let map: HeaderMap = pairs
                .iter()
                .map(|(name, value)| {
                    let name = name.parse::<hyper::header::HeaderName>().expect("a name");
                    (name, value.parse().expect("a value"))
                })
                .collect();
            assert_eq!(is_from_here(&map), expected, "{pairs:?}");
        }
    }
}
