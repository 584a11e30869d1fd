//! A transcript: commands, each with the output that it should have.
//!
//! A line that begins with `$ ` is a command and runs until the output begins; a line that ends in `\` is continued.
//! A line that begins with `# ` is a remark and begins a new paragraph. All other lines are output of the command
//! above them, and blank lines are for the reader alone.

use anyhow::{Result, bail};

/// A remark, or a command with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// Text for the reader.
    Remark(String),
    /// A command for the shell, and the lines that it should print.
    Step {
        /// The command, on one or several lines.
        command: String,
        /// What it prints, without blank lines.
        output: Vec<String>,
    },
}

/// Reads a transcript.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>> {
    let mut entries: Vec<Entry> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        if continued {
            let Some(Entry::Step { command, .. }) = entries.last_mut() else {
                bail!("a line continues nothing: {line}");
            };
            command.push('\n');
            command.push_str(line);
            continued = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            entries.push(Entry::Step { command: command.to_owned(), output: Vec::new() });
            continued = line.ends_with('\\');
        } else if let Some(remark) = line.strip_prefix("# ") {
            entries.push(Entry::Remark(remark.to_owned()));
        } else if !line.trim().is_empty() {
            match entries.last_mut() {
                Some(Entry::Step { output, .. }) => output.push(line.to_owned()),
                _ => bail!("output of no command: {line}"),
            }
        }
    }
    Ok(entries)
}

/// Writes a transcript.
pub(crate) fn render(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut after_step = false;
    for entry in entries {
        match entry {
            Entry::Remark(remark) => {
                if after_step {
                    text.push('\n');
                }
                text.push_str(&format!("# {remark}\n"));
                after_step = false;
            }
            Entry::Step { command, output } => {
                text.push_str(&format!("$ {command}\n"));
                for line in output {
                    text.push_str(line);
                    text.push('\n');
                }
                after_step = true;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Entry, parse, render};

    #[test]
    fn a_transcript_is_read_and_written_back() {
        let text = "# Namespaces\n$ one \\\n  more\na  b\nc\n$ two\n\n# Pods\n$ three\n";
        let entries = parse(text).expect("a transcript");
        assert_eq!(entries.len(), 5);
        assert_eq!(
            entries[1],
            Entry::Step {
                command: "one \\\n  more".to_owned(),
                output: vec!["a  b".to_owned(), "c".to_owned()]
            }
        );
        assert_eq!(render(&entries), "# Namespaces\n$ one \\\n  more\na  b\nc\n$ two\n\n# Pods\n$ three\n");
    }

    #[test]
    fn output_without_a_command_is_refused() {
        assert!(parse("hello\n").is_err());
    }

    #[test]
    fn the_transcript_that_is_checked_in_is_read() {
        let text = include_str!("../kubectl/session.txt");
        let entries = parse(text).expect("a transcript");
        assert!(entries.iter().filter(|entry| matches!(entry, Entry::Step { .. })).count() > 30);
    }
}
