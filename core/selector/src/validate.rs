//! Checks that go beyond types: literal arguments, uniform literals and format strings.

use crate::check::Checked;
use crate::error::{CompileErrorKind, Mistake};
use crate::library::pattern;
use crate::library::printf::{Piece, clauses};
use crate::stack::deeper;
use crate::syntax::tree::{Expr, ExprKind, Literal, Source};
use crate::types::Type;
use crate::value::Value;
use crate::value::convert::convert;

/// Checks a tree whose types are known.
pub(crate) fn validate(expr: &Expr, checked: &Checked, source: &Source) -> Result<(), Mistake> {
    let validator = Validator { checked, source };
    validator.literals(expr)?;
    validator.uniform(expr)?;
    validator.formats(expr)
}

struct Validator<'a> {
    checked: &'a Checked,
    source: &'a Source,
}

impl Validator<'_> {
    fn mistake(&self, kind: CompileErrorKind, at: &Expr, message: String) -> Mistake {
        Mistake::new(kind, self.source.offset(at.id), message)
    }

    /// Calls `check` on every node below `expr`, itself included.
    fn walk(expr: &Expr, check: &mut dyn FnMut(&Expr) -> Result<(), Mistake>) -> Result<(), Mistake> {
        check(expr)?;
        let mut outcome = Ok(());
        expr.for_each_child(|child| {
            if outcome.is_ok() {
                outcome = deeper(|| Validator::walk(child, check));
            }
        });
        outcome
    }

    /// Durations, timestamps and patterns that are written out must be valid.
    fn literals(&self, expr: &Expr) -> Result<(), Mistake> {
        Validator::walk(expr, &mut |node| {
            let ExprKind::Call { function, args, .. } = &node.kind else { return Ok(()) };
            let Some(arg) = args.first() else { return Ok(()) };
            let ExprKind::Literal(literal) = &arg.kind else { return Ok(()) };
            let valid = match (&**function, literal) {
                ("duration" | "timestamp", Literal::String(text)) => {
                    convert(&Value::text(text.clone()), function).is_ok()
                }
                ("timestamp", Literal::Int(seconds)) => convert(&Value::Int(*seconds), function).is_ok(),
                ("matches", Literal::String(text)) => pattern::compile(text).is_ok(),
                _ => true,
            };
            if valid {
                return Ok(());
            }
            let hint = match &**function {
                "duration" => "write numbers with units h, m, s, ms, us or ns, such as \"1h30m\"",
                "timestamp" => "write it like \"2024-02-29T12:00:00Z\", between the years 1 and 9999",
                _ => "write a pattern in RE2 syntax",
            };
            let message = format!("this is not a valid argument of {function}()");
            Err(self.mistake(CompileErrorKind::LiteralArgument, arg, message).hint(hint))
        })
    }

    /// All elements of a list, and all keys and values of a map, have one type, except in arguments of `format`.
    fn uniform(&self, expr: &Expr) -> Result<(), Mistake> {
        match &expr.kind {
            ExprKind::Call { function, .. } if &**function == "format" => return Ok(()),
            ExprKind::List(elements) => {
                self.same_types(elements.iter().map(|element| (&element.value, element.optional)))?;
            }
            ExprKind::Map(entries) => {
                self.same_types(entries.iter().map(|entry| (&entry.key, false)))?;
                self.same_types(entries.iter().map(|entry| (&entry.value, entry.optional)))?;
            }
            _ => {}
        }
        let mut outcome = Ok(());
        expr.for_each_child(|child| {
            if outcome.is_ok() {
                outcome = deeper(|| self.uniform(child));
            }
        });
        outcome
    }

    fn same_types<'e>(&self, exprs: impl Iterator<Item = (&'e Expr, bool)>) -> Result<(), Mistake> {
        let mut common: Option<&Type> = None;
        for (expr, optional) in exprs {
            let whole = self.checked.type_of(expr.id);
            let known = if optional { whole.optional_inner().unwrap_or(whole) } else { whole };
            match common {
                Some(common) if !common.is_exactly(known) => {
                    let message = format!("this is {known}, but the ones before are {common}");
                    return Err(self
                        .mistake(CompileErrorKind::TypeMismatch, expr, message)
                        .hint("all must have one type; wrap each in dyn() to mix types"));
                }
                Some(_) => {}
                None => common = Some(known),
            }
        }
        Ok(())
    }

    /// A format string that is written out must fit a list of arguments that is written out.
    fn formats(&self, expr: &Expr) -> Result<(), Mistake> {
        Validator::walk(expr, &mut |node| {
            let ExprKind::Call { target: Some(target), function, args } = &node.kind else { return Ok(()) };
            let (ExprKind::Literal(Literal::String(format)), [arg]) = (&target.kind, args.as_slice()) else {
                return Ok(());
            };
            let ExprKind::List(elements) = &arg.kind else { return Ok(()) };
            if &**function != "format" {
                return Ok(());
            }
            let mut used = 0;
            let outcome = clauses(format, |piece| {
                let Piece::Clause(letter, _) = piece else { return Ok(()) };
                let element =
                    elements.get(used).ok_or_else(|| format!("there is no argument number {}", used + 1))?;
                used += 1;
                self.fits(letter, &element.value)
            });
            let problem = match outcome {
                Err(problem) => problem,
                Ok(()) if elements.len() > used => {
                    format!("{} arguments are given, but {used} are used", elements.len())
                }
                Ok(()) => return Ok(()),
            };
            Err(self
                .mistake(
                    CompileErrorKind::FormatString,
                    target,
                    format!("this format string does not work: {problem}"),
                )
                .hint("placeholders are %s %d %f %e %b %x %X %o, and %% for a percent sign"))
        })
    }

    fn fits(&self, letter: char, arg: &Expr) -> Result<(), String> {
        let known = match self.checked.type_of(arg.id) {
            Type::Nullable(inner) => inner,
            known => known,
        };
        let fits = match letter {
            _ if *known == Type::Dyn => true,
            's' => return self.fits_string(arg),
            'd' | 'o' => matches!(known, Type::Int | Type::Uint),
            'f' | 'e' => matches!(known, Type::Double | Type::String),
            'b' => matches!(known, Type::Int | Type::Uint | Type::Bool),
            _ => matches!(known, Type::Int | Type::Uint | Type::String | Type::Bytes),
        };
        if fits { Ok(()) } else { Err(format!("%{letter} cannot write {known}")) }
    }

    fn fits_string(&self, arg: &Expr) -> Result<(), String> {
        let known = self.checked.type_of(arg.id);
        let plain = matches!(
            known,
            Type::Dyn
                | Type::List(_)
                | Type::Map(_, _)
                | Type::Int
                | Type::Uint
                | Type::Double
                | Type::Bool
                | Type::String
                | Type::Timestamp
                | Type::Bytes
                | Type::Duration
                | Type::Meta(_)
                | Type::Null
                | Type::Nullable(_)
        );
        if !plain {
            return Err(format!("%s cannot write {known}"));
        }
        match &arg.kind {
            ExprKind::List(elements) => {
                elements.iter().try_for_each(|element| self.fits_string(&element.value))
            }
            ExprKind::Map(entries) => entries.iter().try_for_each(|entry| {
                self.fits_string(&entry.key)?;
                self.fits_string(&entry.value)
            }),
            _ => Ok(()),
        }
    }
}
