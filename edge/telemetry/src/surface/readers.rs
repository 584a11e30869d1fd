//! Who may see more than whether all is well.
//!
//! `/healthz`, `/livez` and `/readyz` themselves are open to everybody, as in Kubernetes, because probes have no token.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap};

/// Who may read metrics, the configuration and the reasons of failed checks.
#[derive(Clone)]
pub enum Readers {
    /// Whoever reaches the surface.
    Everyone,
    /// Whoever this one lets in, such as the API server by way of its reviews.
    Judged(Arc<dyn Judge>),
}

/// Decides who may read.
pub trait Judge: Send + Sync {
    /// May who has this bearer token get this path? Answers should be kept for a while, because scrapes come often.
    fn judge<'a>(
        &'a self,
        token: Option<&'a str>,
        path: &'a str,
    ) -> Pin<Box<dyn Future<Output = Judgement> + Send + 'a>>;
}

/// What a judge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Come in.
    Allowed,
    /// It is not known who asks.
    Unknown,
    /// It is known, and not allowed.
    Forbidden,
    /// It could not be told.
    Unavailable,
}

/// How long a judge may take.
const JUDGE: Duration = Duration::from_secs(10);

impl Readers {
    pub(super) async fn judge(&self, headers: &HeaderMap, path: &str) -> Judgement {
        let Self::Judged(judge) = self else { return Judgement::Allowed };
        let header = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header
            .and_then(|value| value.split_once(' '))
            .and_then(|(scheme, token)| scheme.eq_ignore_ascii_case("bearer").then(|| token.trim()));
        let judged = tokio::time::timeout(JUDGE, judge.judge(token, path)).await;
        judged.unwrap_or(Judgement::Unavailable)
    }
}
