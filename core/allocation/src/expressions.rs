//! Compiled expressions and what they said about slices, kept from one question to the next.
//!
//! Those who ask at the same time each have their own, over one that all know; what they learned is put together afterwards.
//!
//! Invariant: all memories are bounded, and forgetting costs time only.

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
#[derive(Debug, Default)]
pub struct Expressions {
    learned: Learned,
    /// What was known before, and is not changed.
    before: Option<Arc<Expressions>>,
}

/// What was found out about expressions.
#[derive(Debug)]
pub struct Learned {
    selectors: FxHashMap<Arc<str>, Compiled>,
    derived: FxHashMap<Arc<str>, Compiled>,
    matches: MatchCache,
}

impl Default for Learned {
    fn default() -> Learned {
        Learned {
            selectors: FxHashMap::default(),
            derived: FxHashMap::default(),
            matches: MatchCache::new(MATCHES_MAX),
        }
    }
}

impl Expressions {
    /// Nothing is known besides what is known there.
    #[must_use]
    pub fn over(before: Arc<Expressions>) -> Expressions {
        Expressions { learned: Learned::default(), before: Some(before) }
    }

    /// What was found out since.
    #[must_use]
    pub fn into_learned(self) -> Learned {
        self.learned
    }

    /// Takes over what was found out elsewhere.
    pub fn learn(&mut self, Learned { selectors, derived, matches }: Learned) {
        let known = &mut self.learned;
        selectors
            .into_iter()
            .for_each(|(expression, compiled)| add(&mut known.selectors, expression, compiled));
        derived.into_iter().for_each(|(expression, compiled)| add(&mut known.derived, expression, compiled));
        known.matches.absorb(matches);
    }

    /// What a selector says about the devices of a slice.
    ///
    /// # Errors
    /// It is no expression that can be evaluated.
    pub fn matches(
        &mut self,
        expression: &Arc<str>,
        published: &Published,
    ) -> Result<Arc<SliceMatches>, String> {
        let held =
            |before: &Arc<Expressions>| before.learned.matches.held(expression, published.revision).cloned();
        if let Some(matches) = self.before.as_ref().and_then(held) {
            return Ok(matches);
        }
        let selector = self.selector(expression)?;
        let compute = || selector.matches_slice(&published.table);
        Ok(self.learned.matches.matches(expression, published.revision, compute))
    }

    /// The only driver whose devices a selector can match, if it says so.
    pub fn driver(&mut self, expression: &Arc<str>) -> Option<Arc<str>> {
        self.selector(expression).ok()?.driver().map(Into::into)
    }

    fn selector(&mut self, expression: &Arc<str>) -> Compiled {
        let before = self.before.as_ref().map(|before| &before.learned.selectors);
        compiled(&mut self.learned.selectors, before, expression, ExpressionKind::Selector)
    }

    /// An expression that derives an attribute.
    pub(crate) fn derived(&mut self, expression: &Arc<str>) -> Compiled {
        let before = self.before.as_ref().map(|before| &before.learned.derived);
        compiled(&mut self.learned.derived, before, expression, ExpressionKind::Derived)
    }
}

fn compiled(
    known: &mut FxHashMap<Arc<str>, Compiled>,
    before: Option<&FxHashMap<Arc<str>, Compiled>>,
    expression: &Arc<str>,
    kind: ExpressionKind,
) -> Compiled {
    if let Some(compiled) = known.get(expression).or_else(|| before?.get(expression)) {
        return compiled.clone();
    }
    // What is stored may use every function that we know: admission decided whether it might be stored.
    let compiled = Selector::compile(expression, kind, Environment::all());
    let compiled = compiled.map(Arc::new).map_err(|error| error.to_string());
    add(known, expression.clone(), compiled.clone());
    compiled
}

fn add(known: &mut FxHashMap<Arc<str>, Compiled>, expression: Arc<str>, compiled: Compiled) {
    if known.len() >= COMPILED_MAX {
        known.clear();
    }
    known.insert(expression, compiled);
}
