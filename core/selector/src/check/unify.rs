//! Assignability of types, with type variables.
//!
//! A failed attempt leaves no trace: bindings are undone through a trail instead of copying the whole table, which the
//! deepest lists would pay for.

use crate::types::{FIRST_FREE, Type};

/// The bindings of type variables.
#[derive(Default, Debug)]
pub(super) struct Bindings {
    bound: Vec<Option<Type>>,
    trail: Vec<(usize, Option<Type>)>,
}

impl Bindings {
    /// A type variable that nothing knows yet.
    pub(super) fn fresh(&mut self) -> Type {
        self.bound.push(None);
        Type::Param(FIRST_FREE + self.bound.len() as u32 - 1)
    }

    fn find(&self, param: u32) -> Option<&Type> {
        self.bound.get(param.checked_sub(FIRST_FREE)? as usize)?.as_ref()
    }

    fn bind(&mut self, param: u32, to: Type) {
        let Some(slot) = param.checked_sub(FIRST_FREE).map(|slot| slot as usize) else { return };
        if let Some(place) = self.bound.get_mut(slot) {
            let before = place.replace(to);
            self.trail.push((slot, before));
        }
    }

    fn undo(&mut self, mark: usize) {
        while self.trail.len() > mark {
            if let Some((slot, before)) = self.trail.pop() {
                self.bound[slot] = before;
            }
        }
    }

    /// Whether `from` can be used where `to` is wanted; binds variables if so.
    pub(super) fn assign(&mut self, from: &Type, to: &Type) -> bool {
        let mark = self.trail.len();
        let fits = self.assignable(from, to);
        if !fits {
            self.undo(mark);
        }
        fits
    }

    /// Whether each of `from` can be used where the matching one of `to` is wanted.
    pub(super) fn assign_all(&mut self, from: &[Type], to: &[Type]) -> bool {
        let mark = self.trail.len();
        let fits = self.all_assignable(from, to);
        if !fits {
            self.undo(mark);
        }
        fits
    }

    fn all_assignable(&mut self, from: &[Type], to: &[Type]) -> bool {
        from.len() == to.len() && from.iter().zip(to).all(|(from, to)| self.assignable(from, to))
    }

    fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Param(param) = to {
            match self.substitution(from, *param) {
                Substitution::Valid => return true,
                Substitution::Conflict => return false,
                Substitution::Impossible => {}
            }
        }
        if let Type::Param(param) = from {
            return matches!(self.substitution(to, *param), Substitution::Valid);
        }
        if from.is_dyn() || to.is_dyn() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => is_nullable(other),
            (Type::Nullable(from), Type::Nullable(to)) => self.assignable(from, to),
            (Type::Nullable(inner), other) | (other, Type::Nullable(inner)) => inner.is_exactly(other),
            (Type::Meta(_), Type::Meta(_)) => true,
            (Type::List(from), Type::List(to)) => self.assignable(from, to),
            (Type::Map(from_key, from_value), Type::Map(to_key, to_value)) => {
                self.assignable(from_key, to_key) && self.assignable(from_value, to_value)
            }
            (Type::Opaque(from, from_params), Type::Opaque(to, to_params)) => {
                from == to && self.all_assignable(from_params, to_params)
            }
            (from, to) => from == to,
        }
    }

    /// Whether the variable `param` can stand for `candidate`.
    fn substitution(&mut self, candidate: &Type, param: u32) -> Substitution {
        if *candidate == Type::Param(param) {
            return Substitution::Valid;
        }
        if let Some(bound) = self.find(param).cloned() {
            if candidate.is_exactly(&bound) {
                return Substitution::Valid;
            }
            if !self.assignable(candidate, &bound) {
                return Substitution::Conflict;
            }
            let general = most_general(candidate, &bound);
            if !self.occurs(param, &general) {
                self.bind(param, general);
            }
            return Substitution::Valid;
        }
        if self.occurs(param, candidate) {
            return Substitution::Impossible;
        }
        self.bind(param, candidate.clone());
        Substitution::Valid
    }

    /// Whether the variable appears in the type, directly or through other variables.
    fn occurs(&self, param: u32, within: &Type) -> bool {
        match within {
            Type::Param(other) => {
                *other == param || self.find(*other).is_some_and(|bound| self.occurs(param, bound))
            }
            Type::List(element) => self.occurs(param, element),
            Type::Map(key, value) => self.occurs(param, key) || self.occurs(param, value),
            Type::Opaque(_, params) => params.iter().any(|inner| self.occurs(param, inner)),
            Type::Meta(Some(inner)) => self.occurs(param, inner),
            _ => false,
        }
    }

    /// The type with its variables replaced; the free ones become `dyn` if `free_to_dyn`.
    pub(super) fn substitute(&self, subject: &Type, free_to_dyn: bool) -> Type {
        match subject {
            Type::Param(param) => match self.find(*param) {
                Some(bound) => self.substitute(bound, free_to_dyn),
                None if free_to_dyn => Type::Dyn,
                None => subject.clone(),
            },
            Type::List(element) => Type::list(self.substitute(element, free_to_dyn)),
            Type::Map(key, value) => {
                Type::map(self.substitute(key, free_to_dyn), self.substitute(value, free_to_dyn))
            }
            Type::Opaque(name, params) => {
                Type::Opaque(name, params.iter().map(|inner| self.substitute(inner, free_to_dyn)).collect())
            }
            Type::Meta(Some(inner)) => Type::type_of(self.substitute(inner, free_to_dyn)),
            other => other.clone(),
        }
    }
}

enum Substitution {
    Valid,
    /// The variable is bound to something else.
    Conflict,
    /// The variable would contain itself.
    Impossible,
}

fn is_nullable(subject: &Type) -> bool {
    matches!(
        subject,
        Type::Null
            | Type::Nullable(_)
            | Type::Opaque(_, _)
            | Type::Struct(_)
            | Type::Any
            | Type::Duration
            | Type::Timestamp
    )
}

/// Whether `left` is `right` or says less.
fn says_no_more(left: &Type, right: &Type) -> bool {
    if left.is_dyn() || matches!(left, Type::Param(_)) {
        return true;
    }
    if right.is_dyn() || matches!(right, Type::Param(_)) {
        return false;
    }
    match (left, right) {
        (Type::List(left), Type::List(right)) => says_no_more(left, right),
        (Type::Map(left_key, left_value), Type::Map(right_key, right_value)) => {
            says_no_more(left_key, right_key) && says_no_more(left_value, right_value)
        }
        (Type::Opaque(left, left_params), Type::Opaque(right, right_params)) => {
            left == right
                && left_params.len() == right_params.len()
                && left_params.iter().zip(right_params.iter()).all(|(left, right)| says_no_more(left, right))
        }
        (Type::Meta(_), Type::Meta(_)) => true,
        (left, right) => left.is_exactly(right),
    }
}

/// The less specific of two types that are known to fit.
pub(super) fn most_general(left: &Type, right: &Type) -> Type {
    if says_no_more(left, right) { left.clone() } else { right.clone() }
}

/// A declared type with its letters replaced by the given variables.
pub(super) fn instantiate(declared: &Type, variables: &[Type]) -> Type {
    match declared {
        Type::Param(letter) => variables.get(*letter as usize).cloned().unwrap_or(Type::Dyn),
        Type::List(element) => Type::list(instantiate(element, variables)),
        Type::Map(key, value) => Type::map(instantiate(key, variables), instantiate(value, variables)),
        Type::Opaque(name, params) => {
            Type::Opaque(name, params.iter().map(|inner| instantiate(inner, variables)).collect())
        }
        Type::Meta(Some(inner)) => Type::type_of(instantiate(inner, variables)),
        other => other.clone(),
    }
}
