//! Shows the board: as a table that is drawn anew in place, or as a line for each thing that happens.
//!
//! Invariant: whatever was changed about the terminal is undone by [`Show::end`].

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::live::board::{Board, Row, State, Tally};

/// How many pods a table has at most: the height of a terminal is not known, and most have 24 lines.
const ROWS_MAX: usize = 18;

/// Number of reasons that are printed in full at the end.
const REASONS_MAX: usize = 5;

/// Lines are cut at the margin, so that each row is one line; the cursor is out of the way.
const BEGIN: &str = "\x1b[?7l\x1b[?25l";
const WRAP: &str = "\x1b[?7h";
const END: &str = "\x1b[?7h\x1b[?25h";

/// Whether stdout is a terminal that can be drawn on.
pub(crate) fn is_live() -> bool {
    io::stdout().is_terminal() && env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// What is shown, and how.
pub(crate) struct Show {
    way: Way,
    began: Instant,
    /// How many pods had been placed when last one was, and how long after the beginning that was.
    placed: (usize, Duration),
}

enum Way {
    /// A table, as it is drawn now.
    Table { drawn: String, colours: bool },
    /// Lines; what was said last of each pod.
    Lines(BTreeMap<String, (State, String)>),
}

impl Show {
    /// Begins; a table if `live`.
    pub(crate) fn begin(live: bool, out: &mut dyn Write) -> io::Result<Self> {
        let colours = env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let way =
            if live { Way::Table { drawn: String::new(), colours } } else { Way::Lines(BTreeMap::new()) };
        if live {
            out.write_all(BEGIN.as_bytes())?;
        }
        Ok(Self { way, began: Instant::now(), placed: (0, Duration::ZERO) })
    }

    /// Shows nothing: the reader closed the pipe.
    pub(crate) fn silent() -> Self {
        Self { way: Way::Lines(BTreeMap::new()), began: Instant::now(), placed: (0, Duration::ZERO) }
    }

    /// Shows how things are now.
    pub(crate) fn update(&mut self, board: &Board, out: &mut dyn Write) -> io::Result<()> {
        if board.placed() != self.placed.0 {
            self.placed = (board.placed(), self.began.elapsed());
        }
        match &mut self.way {
            Way::Table { drawn, colours } => {
                let table = table(board, self.placed.1, *colours);
                if table == *drawn {
                    return Ok(());
                }
                erase(drawn, out)?;
                out.write_all(table.as_bytes())?;
                *drawn = table;
            }
            Way::Lines(said) => {
                for line in news(said, &board.rows()) {
                    writeln!(out, "{line}")?;
                }
            }
        }
        out.flush()
    }

    /// Prints a message to stderr without disturbing the table.
    pub(crate) fn warn(&mut self, trouble: &str, out: &mut dyn Write) -> io::Result<()> {
        if let Way::Table { drawn, .. } = &mut self.way {
            erase(drawn, out)?;
            drawn.clear();
            out.write_all(WRAP.as_bytes())?;
            out.flush()?;
        }
        // Whoever closed stderr does not want to know.
        let _ = writeln!(io::stderr(), "warning: {trouble}");
        match self.way {
            Way::Table { .. } => out.write_all(BEGIN.as_bytes()),
            Way::Lines(_) => Ok(()),
        }
    }

    /// Ends, and leaves the terminal as it was.
    pub(crate) fn end(&mut self, board: &Board, out: &mut dyn Write) -> io::Result<()> {
        self.update(board, out)?;
        match self.way {
            Way::Table { .. } => {
                out.write_all(END.as_bytes())?;
                // The table has cut them short.
                for (pod, reason) in reasons(&board.rows()) {
                    write!(out, "\n{pod} waits: {reason}\n")?;
                }
            }
            Way::Lines(_) => {
                for row in board.rows().iter().filter(|row| row.state == State::Waits(None)) {
                    writeln!(out, "{:18}  waits      no reason reported", row.pod)?;
                }
                writeln!(out, "{}", sum(board.tally()))?;
            }
        }
        out.flush()
    }
}

/// Why pods wait, for the first few that do.
fn reasons(rows: &[Row]) -> Vec<(&str, &str)> {
    let reasons = rows.iter().filter_map(|row| {
        let State::Waits(Some(reason)) = &row.state else { return None };
        Some((row.pod.as_str(), reason.as_str()))
    });
    reasons.take(REASONS_MAX).collect()
}

/// Takes what was drawn off the terminal.
fn erase(drawn: &str, out: &mut dyn Write) -> io::Result<()> {
    let lines = drawn.lines().count();
    if lines > 0 {
        write!(out, "\x1b[{lines}A")?;
    }
    write!(out, "\r\x1b[J")
}

/// All counts that say something.
fn sum(tally: Tally) -> String {
    let counts = [
        (tally.running, "running"),
        (tally.succeeded, "succeeded"),
        (tally.failed, "failed"),
        (tally.waiting, "waiting"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}"))
        .collect();
    let pods = if tally.pods == 1 { "pod" } else { "pods" };
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    format!("{} {pods}{counts}", tally.pods)
}

/// The table: failed and waiting pods first, because they need attention; then the others; and a summary.
fn table(board: &Board, elapsed: Duration, colours: bool) -> String {
    let mut rows = board.rows();
    let all = rows.len();
    let rank = |row: &Row| match row.state {
        State::Failed => 0,
        State::Waits(_) => 1,
        State::Placed | State::Ends => 2,
        State::Runs => 3,
        State::Succeeded => 4,
    };
    if all > ROWS_MAX {
        rows.sort_by_key(rank);
        rows.truncate(ROWS_MAX);
    }
    let width = |of: fn(&Row) -> &str, least: usize| {
        rows.iter().map(|row| of(row).len()).max().unwrap_or(0).max(least)
    };
    let (pods, nodes) = (width(|row| &row.pod, 3), width(|row| &row.node, 4));
    let mut text = format!("{:pods$}  {:9}  {:nodes$}  DEVICES OR REASON\n", "POD", "STATE", "NODE");
    for row in &rows {
        let word = row.state.word();
        let (on, off) = match (&row.state, colours) {
            (_, false) => ("", ""),
            (State::Waits(_) | State::Placed | State::Ends, true) => ("\x1b[33m", "\x1b[0m"),
            (State::Runs | State::Succeeded, true) => ("\x1b[32m", "\x1b[0m"),
            (State::Failed, true) => ("\x1b[31m", "\x1b[0m"),
        };
        let told = told(row);
        let line = format!("{:pods$}  {on}{word:9}{off}  {:nodes$}  {told}", row.pod, row.node);
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if all > rows.len() {
        text.push_str(&format!("… and {} more\n", all - rows.len()));
    }
    let (placed, seconds) = (board.placed(), elapsed.as_secs_f64());
    text.push_str(&format!("{}; {placed} placed in {seconds:.1} s\n", sum(board.tally())));
    text
}

/// The last column of a pod: its devices, or why it waits.
fn told(row: &Row) -> &str {
    match &row.state {
        State::Waits(reason) => reason.as_deref().unwrap_or_default(),
        _ => &row.devices,
    }
}

/// A line for each pod that stands otherwise than was said last.
fn news(said: &mut BTreeMap<String, (State, String)>, rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        // That a pod is there is said when there is more to say of it.
        if row.state == State::Waits(None) {
            continue;
        }
        let now = (row.state.clone(), row.node.clone());
        let before = said.get(&row.pod);
        if before == Some(&now) {
            continue;
        }
        // Devices are told once, with the node.
        let is_known = before.is_some_and(|(_, node)| !node.is_empty());
        let told = if is_known { "" } else { told(row) };
        let node = if row.node.is_empty() { String::new() } else { format!("{}  ", row.node) };
        let line = format!("{:18}  {:9}  {node}{told}", row.pod, row.state.word());
        lines.push(line.trim_end().to_owned());
        said.insert(row.pod.clone(), now);
    }
    let there: BTreeSet<&str> = rows.iter().map(|row| row.pod.as_str()).collect();
    let gone: Vec<String> = said.keys().filter(|pod| !there.contains(pod.as_str())).cloned().collect();
    for pod in gone {
        said.remove(&pod);
        lines.push(format!("{pod:18}  gone"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(pod: &str, state: State, node: &str, devices: &str) -> Row {
        let text = str::to_owned;
        Row { pod: text(pod), state, node: text(node), devices: text(devices) }
    }

    #[test]
    fn a_line_is_said_once_for_each_thing_that_happens() {
        let mut said = BTreeMap::new();
        let placed = row("ns/a", State::Placed, "n", "x/p/one");
        let waits = row("ns/b", State::Waits(Some("no room".to_owned())), "", "");
        let unknown = row("ns/c", State::Waits(None), "", "");
        let rows = [placed, waits.clone(), unknown];
        let expected =
            ["ns/a                placed     n  x/p/one", "ns/b                waits      no room"];
        assert_eq!(news(&mut said, &rows), expected);
        assert!(news(&mut said, &rows).is_empty());
        let done = row("ns/a", State::Runs, "n", "x/p/one");
        assert_eq!(
            news(&mut said, &[done]),
            ["ns/a                running    n", "ns/b                gone"]
        );
        assert_eq!(news(&mut said, &[waits]).len(), 2);
    }

    #[test]
    fn a_table_is_drawn_over_the_one_before_and_only_if_it_is_another() {
        let mut out = Vec::new();
        let mut show = Show::begin(true, &mut out).expect("memory can be written to");
        let board = Board::default();
        show.update(&board, &mut out).expect("memory can be written to");
        let once = out.len();
        show.update(&board, &mut out).expect("memory can be written to");
        assert_eq!(out.len(), once);
        show.warn("trouble", &mut out).expect("memory can be written to");
        show.end(&board, &mut out).expect("memory can be written to");
        let text = String::from_utf8(out).expect("text");
        assert_eq!(text.matches("0 pods; 0 placed").count(), 2);
        assert_eq!(text.matches("\x1b[2A\r\x1b[J").count(), 1);
        assert!(text.starts_with(BEGIN) && text.ends_with(END), "{text:?}");
    }

    #[test]
    fn reasons_are_told_of_those_that_have_one() {
        let waits = row("ns/b", State::Waits(Some("no room".to_owned())), "", "");
        let rows = [row("ns/a", State::Runs, "n", ""), waits, row("ns/c", State::Waits(None), "", "")];
        assert_eq!(reasons(&rows), [("ns/b", "no room")]);
    }

    #[test]
    fn a_sum_says_only_what_there_is() {
        assert_eq!(sum(Tally::default()), "0 pods");
        let tally = Tally { pods: 3, waiting: 1, running: 2, ..Tally::default() };
        assert_eq!(sum(tally), "3 pods: 2 running, 1 waiting");
    }

    #[test]
    fn an_empty_table_has_a_head_and_a_sum() {
        let table = table(&Board::default(), Duration::from_millis(1500), true);
        assert_eq!(table, "POD  STATE      NODE  DEVICES OR REASON\n0 pods; 0 placed in 1.5 s\n");
    }
}
