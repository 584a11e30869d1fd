//! A mistake in a file, shown with its line and a caret below it.

use std::fmt;

/// Something in a file that is wrong.
#[derive(Debug)]
pub(crate) struct Mistake {
    file: String,
    line: u64,
    column: u64,
    what: String,
    shown: String,
}

impl Mistake {
    /// What is wrong at a line and a column of a text, both counted from one.
    pub(crate) fn new(file: &str, text: &str, (line, column): (u64, u64), what: &str) -> Self {
        let at = usize::try_from(line.saturating_sub(1)).unwrap_or(usize::MAX);
        let shown = text.lines().nth(at).unwrap_or_default().to_owned();
        Self { file: file.to_owned(), line, column, what: what.to_owned(), shown }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column, what, shown } = self;
        writeln!(out, "{file}:{line}:{column}: {what}")?;
        let margin = " ".repeat(line.to_string().len());
        writeln!(out, "{margin} |")?;
        writeln!(out, "{line} | {shown}")?;
        write!(
            out,
            "{margin} | {}^",
            " ".repeat(usize::try_from(column.saturating_sub(1)).unwrap_or_default())
        )
    }
}

/// What an error says first, without the place that it may end with.
pub(crate) fn first_line(error: &str) -> String {
    let line = error.lines().next().unwrap_or_default();
    line.split(" at line ").next().unwrap_or(line).to_owned()
}
