//! A transcript: commands, each with the output that it should have.
//!
//! A line that begins with `$ ` is a command and runs until the output begins; a line that ends in `\` is continued.
//! A line that begins with `# ` is a remark and begins a new paragraph. All other lines are output of the command
//! above them, and blank lines are for the reader alone.

use anyhow::{Result, bail};

/// A remark, or a command with its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TranscriptPart {
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
pub(crate) fn parse(text: &str) -> Result<Vec<TranscriptPart>> {
    let mut parts: Vec<TranscriptPart> = Vec::new();
    let mut continued = false;
    for line in text.lines() {
        if continued {
            let Some(TranscriptPart::Step { command, .. }) = parts.last_mut() else {
                bail!("a line continues nothing: {line}");
            };
            command.push('\n');
            command.push_str(line);
            continued = line.ends_with('\\');
        } else if let Some(command) = line.strip_prefix("$ ") {
            parts.push(TranscriptPart::Step { command: command.to_owned(), output: Vec::new() });
            continued = line.ends_with('\\');
        } else if let Some(remark) = line.strip_prefix("# ") {
            parts.push(TranscriptPart::Remark(remark.to_owned()));
        } else if !line.trim().is_empty() {
            match parts.last_mut() {
                Some(TranscriptPart::Step { output, .. }) => output.push(line.to_owned()),
                _ => bail!("output of no command: {line}"),
            }
        }
    }
    Ok(parts)
}

/// Writes a transcript.
pub(crate) fn render(parts: &[TranscriptPart]) -> String {
    let mut text = String::new();
    let mut after_step = false;
    for part in parts {
        match part {
            TranscriptPart::Remark(remark) => {
                if after_step {
                    text.push('\n');
                }
                text.push_str(&format!("# {remark}\n"));
                after_step = false;
            }
            TranscriptPart::Step { command, output } => {
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
    use super::{TranscriptPart, parse, render};

    #[test]
    fn a_transcript_is_read_and_written_back() {
        let text = "# Namespaces\n$ one \\\n  more\na  b\nc\n$ two\n\n# Pods\n$ three\n";
        let parts = parse(text).expect("a transcript");
        assert_eq!(parts.len(), 5);
        assert_eq!(
            parts[1],
            TranscriptPart::Step {
                command: "one \\\n  more".to_owned(),
                output: vec!["a  b".to_owned(), "c".to_owned()]
            }
        );
        assert_eq!(render(&parts), "# Namespaces\n$ one \\\n  more\na  b\nc\n$ two\n\n# Pods\n$ three\n");
    }

    #[test]
    fn output_without_a_command_is_refused() {
        assert!(parse("hello\n").is_err());
    }

    #[test]
    fn the_transcript_that_is_checked_in_is_read() {
        let text = include_str!("../kubectl/session.txt");
        let parts = parse(text).expect("a transcript");
        assert!(parts.iter().filter(|part| matches!(part, TranscriptPart::Step { .. })).count() > 30);
    }
}
