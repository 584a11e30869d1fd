//! Compiled expressions and what they said about slices, kept from one question to the next.
//!
//! Invariant: both memories are bounded, and forgetting costs time only.

use std::sync::Arc;

use cluster::published::Published;
use rustc_hash::FxHashMap;
use selector::{Environment, ExpressionKind, MatchCache, Selector, SliceMatches};

/// How many expressions are kept compiled.
const COMPILED_MAX: usize = 10_000;

/// How many answers about slices are kept.
const MATCHES_MAX: usize = 200_000;

/// A compiled expression, or what the compiler said.
type Compiled = Result<Arc<Selector>, String>;

/// Compiled expressions and their answers.
#[derive(Debug)]
pub struct Expressions {
    selectors: FxHashMap<Arc<str>, Compiled>,
    derived: FxHashMap<Arc<str>, Compiled>,
    matches: MatchCache,
}

impl Default for Expressions {
    fn default() -> Self {
        Expressions {
            selectors: FxHashMap::default(),
            derived: FxHashMap::default(),
            matches: MatchCache::new(MATCHES_MAX),
        }
    }
}

impl Expressions {
    /// What a selector says about the devices of a slice.
    ///
    /// # Errors
    /// It is no expression that can be evaluated.
    pub fn matches(
        &mut self,
        expression: &Arc<str>,
        published: &Published,
    ) -> Result<Arc<SliceMatches>, String> {
        let selector = compiled(&mut self.selectors, expression, ExpressionKind::Selector)?;
        let compute = || selector.matches_slice(&published.table);
        Ok(self.matches.matches(expression, published.revision, compute))
    }

    /// The only driver whose devices a selector can match, if it says so.
    pub fn driver(&mut self, expression: &Arc<str>) -> Option<Arc<str>> {
        let selector = compiled(&mut self.selectors, expression, ExpressionKind::Selector).ok()?;
        selector.driver().map(Into::into)
    }

    /// An expression that derives an attribute.
    pub(crate) fn derived(&mut self, expression: &Arc<str>) -> Compiled {
        compiled(&mut self.derived, expression, ExpressionKind::Derived)
    }
}

fn compiled(
    known: &mut FxHashMap<Arc<str>, Compiled>,
    expression: &Arc<str>,
    kind: ExpressionKind,
) -> Compiled {
    if let Some(compiled) = known.get(expression) {
        return compiled.clone();
    }
    if known.len() >= COMPILED_MAX {
        known.clear();
    }
    // What is stored may use every function that we know: admission decided whether it might be stored.
    let compiled = Selector::compile(expression, kind, Environment::all());
    let compiled = compiled.map(Arc::new).map_err(|error| error.to_string());
    known.insert(expression.clone(), compiled.clone());
    compiled
}
