//! What can be wrong with an expression, and what can go wrong while it runs.

use std::fmt;

/// What kind of mistake an expression that does not compile contains.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum CompileErrorKind {
    /// The text is not an expression of the language.
    Syntax(SyntaxMistake),
    /// A name that nothing declares.
    Undeclared,
    /// No form of the function takes arguments of these types.
    NoOverload,
    /// The result has a type that this place cannot use.
    OutputType,
    /// A sub-expression of constants cannot be evaluated.
    Constant,
    /// Two types that must agree do not.
    TypeMismatch,
    /// A literal argument that its function rejects.
    LiteralArgument,
    /// A format string that does not fit its arguments.
    FormatString,
    /// A field is selected from a value without fields.
    Selection,
    /// A comprehension over something that is not a list or map.
    Range,
    /// The expression is too long or nested too deeply.
    Limit,
}

/// Which syntax rule was broken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SyntaxMistake {
    /// The grammar.
    Grammar,
    /// A literal is out of range or badly written.
    Literal,
    /// A macro's arguments have the wrong shape.
    Macro,
    /// A reserved word is used as a name.
    Reserved,
}

/// Why an expression does not compile, with its place and what would be right.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, thiserror::Error)]
pub struct CompileError {
    /// The kind of mistake.
    pub kind: CompileErrorKind,
    /// The place, in code points from the start of the expression.
    pub offset: usize,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1, in code points.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What would be right, when that is known.
    pub hint: Option<String>,
}

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 1 {
            write!(out, "line {}, column {}: {}", self.line, self.column, self.message)?;
        } else {
            write!(out, "column {}: {}", self.column, self.message)?;
        }
        match &self.hint {
            Some(hint) => write!(out, "; hint: {hint}"),
            None => Ok(()),
        }
    }
}

/// A mistake at a place that is still a plain offset.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Mistake {
    pub(crate) kind: CompileErrorKind,
    pub(crate) offset: u32,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
}

impl Mistake {
    pub(crate) fn new(kind: CompileErrorKind, offset: u32, message: impl Into<String>) -> Mistake {
        Mistake { kind, offset, message: message.into(), hint: None }
    }

    pub(crate) fn syntax(offset: u32, message: impl Into<String>) -> Mistake {
        Mistake::new(CompileErrorKind::Syntax(SyntaxMistake::Grammar), offset, message)
    }

    pub(crate) fn limit(offset: u32, message: impl Into<String>) -> Mistake {
        Mistake::new(CompileErrorKind::Limit, offset, message)
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Mistake {
        self.hint = Some(hint.into());
        self
    }

    /// Turns the offset into a line and a column of `expression`.
    pub(crate) fn located(self, expression: &str) -> CompileError {
        let offset = self.offset as usize;
        let mut line = 1;
        let mut column = 1;
        for character in expression.chars().take(offset) {
            if character == '\n' {
                line += 1;
                column = 1;
            } else {
                column += 1;
            }
        }
        CompileError { kind: self.kind, offset, line, column, message: self.message, hint: self.hint }
    }
}
