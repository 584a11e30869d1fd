//! Compiled expressions and what they said about slices, kept from one question to the next.
//!
//! Lanes that ask at the same time each have their own, over one that all know; what they learned is put together afterwards.
//!
//! Invariant: all memories are bounded, and forgetting costs time only.

use std::sync::Arc;

use cluster::published::Published;
use rustc_hash::FxHashMap;
use selector::{CompileError, Environment, ExpressionKind, MatchCache, Selector, SliceMatches};

/// How many expressions are kept compiled.
const COMPILED_MAX: usize = 10_000;

/// How many answers about slices are kept.
const MATCHES_MAX: usize = 200_000;

/// A compiled expression, or what the compiler said.
type Compiled = Result<Arc<Selector>, CompileError>;

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

    /// What is known now, for others that ask at the same time: they have it in common, and each learns by itself.
    #[must_use]
    pub fn share(&mut self) -> Expressions {
        let known = match &self.before {
            Some(known) => known.clone(),
            None => {
                let known = Arc::new(std::mem::take(self));
                self.before = Some(known.clone());
                known
            }
        };
        Expressions::over(known)
    }

    /// Takes over what was found out by another that has the same in common, and what they have if no others have it any more.
    pub fn rejoin(&mut self, other: Expressions) {
        let Expressions { learned, before } = other;
        drop(before);
        self.learn(learned);
        match self.before.take().map(Arc::try_unwrap) {
            Some(Ok(mut known)) => {
                known.learn(std::mem::take(&mut self.learned));
                *self = known;
            }
            Some(Err(shared)) => self.before = Some(shared),
            None => {}
        }
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
    ) -> Result<Arc<SliceMatches>, CompileError> {
        let held = |known: &Expressions| known.learned.matches.held(expression, published.revision).cloned();
        if let Some(matches) = self.earlier().find_map(held) {
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
        let before = self.earlier().find_map(|known| known.learned.selectors.get(expression)).cloned();
        compiled(&mut self.learned.selectors, before, expression, ExpressionKind::Selector)
    }

    /// An expression that derives an attribute.
    pub(crate) fn derived(&mut self, expression: &Arc<str>) -> Compiled {
        let before = self.earlier().find_map(|known| known.learned.derived.get(expression)).cloned();
        compiled(&mut self.learned.derived, before, expression, ExpressionKind::Derived)
    }

    /// What was known before, the youngest first.
    fn earlier(&self) -> impl Iterator<Item = &Expressions> {
        std::iter::successors(self.before.as_deref(), |known| known.before.as_deref())
    }
}

fn compiled(
    known: &mut FxHashMap<Arc<str>, Compiled>,
    before: Option<Compiled>,
    expression: &Arc<str>,
    kind: ExpressionKind,
) -> Compiled {
    if let Some(compiled) = before.or_else(|| known.get(expression).cloned()) {
        return compiled;
    }
    // What is stored may use every function that we know: admission decided whether it might be stored.
    let compiled = Selector::compile(expression, kind, Environment::all());
    let compiled = compiled.map(Arc::new);
    add(known, expression.clone(), compiled.clone());
    compiled
}

fn add(known: &mut FxHashMap<Arc<str>, Compiled>, expression: Arc<str>, compiled: Compiled) {
    if known.len() >= COMPILED_MAX {
        known.clear();
    }
    known.insert(expression, compiled);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compiles an expression, and says whether it was known before.
    fn knew(expressions: &mut Expressions, text: &str) -> bool {
        let text: Arc<str> = text.into();
        let before = expressions.learned.selectors.len();
        assert!(expressions.selector(&text).is_ok());
        expressions.learned.selectors.len() == before
    }

    #[test]
    fn what_is_shared_is_known_to_all_and_what_they_learn_is_put_together() {
        let mut own = Expressions::default();
        assert!(!knew(&mut own, "1 == 1"));
        let (mut one, mut other) = (own.share(), own.share());
        assert!(!knew(&mut own, "2 == 2") && !knew(&mut one, "3 == 3") && !knew(&mut other, "4 == 4"));
        assert!(knew(&mut own, "1 == 1") && knew(&mut one, "1 == 1") && knew(&mut other, "1 == 1"));

        own.rejoin(one);
        assert!(own.before.is_some(), "another has it in common yet");
        assert!(knew(&mut own, "3 == 3") && knew(&mut own, "2 == 2") && !knew(&mut own, "4 == 4"));
        own.rejoin(other);
        assert!(own.before.is_none());
        assert!((1..=4).all(|number| knew(&mut own, &format!("{number} == {number}"))));
    }

    #[test]
    fn what_never_came_back_costs_nothing_but_what_it_learned() {
        let mut own = Expressions::default();
        assert!(!knew(&mut own, "1 == 1"));
        drop(own.share());
        let mut lane = Expressions::over(Arc::new(std::mem::take(&mut own)));
        assert!(knew(&mut lane, "1 == 1"), "what was known is found through what is in common");
    }
}
