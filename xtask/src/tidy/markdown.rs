//! Just enough of Markdown: prose and fenced lines, code spans, link targets and the anchors of headings.

/// Where a line stands.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    Prose,
    /// Inside a fence that was opened with this language; empty when it names none.
    Fenced(String),
}

/// One line of a document, without the lines that open and close fences.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// Counted from 1.
    pub(crate) number: usize,
    pub(crate) text: &'a str,
    pub(crate) place: Place,
}

pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let ticks = line.trim_start().chars().take_while(|char| *char == '`').count();
        let after = line.trim_start().trim_start_matches('`').trim();
        match &open {
            None if ticks >= 3 => {
                let language = after.split_whitespace().next().unwrap_or_default();
                open = Some((ticks, language.to_owned()));
            }
            Some((opened_with, _)) if ticks >= *opened_with && after.is_empty() => open = None,
            Some((_, language)) => {
                lines.push(Line { number: index + 1, text: line, place: Place::Fenced(language.clone()) });
            }
            None => lines.push(Line { number: index + 1, text: line, place: Place::Prose }),
        }
    }
    lines
}

/// The code spans of a line of prose.
pub(crate) fn code_spans(line: &str) -> Vec<&str> {
    let parts: Vec<&str> = line.split('`').collect();
    // An odd number of ticks leaves the last part open, and it is prose after all.
    let closed = if parts.len() % 2 == 1 { parts.len() } else { parts.len() - 1 };
    parts[..closed]
        .iter()
        .skip(1)
        .step_by(2)
        .map(|span| span.trim())
        .filter(|span| !span.is_empty())
        .collect()
}

/// The targets of the links of a line of prose, inline or by reference.
pub(crate) fn link_targets(line: &str) -> Vec<String> {
    let prose: String = line.split('`').step_by(2).collect();
    let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
    let mut targets: Vec<String> = inline.map(str::to_owned).collect();
    if let Some((label, target)) = prose.split_once("]: ")
        && label.starts_with('[')
    {
        targets.extend(target.split_whitespace().next().map(str::to_owned));
    }
    targets
}

/// The anchors that the headings of a document make.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let headings =
        lines(text).into_iter().filter(|line| line.place == Place::Prose && line.text.starts_with('#'));
    headings.map(|line| slug(line.text.trim_start_matches('#').trim())).collect()
}

fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|char| char.is_alphanumeric() || " -_".contains(*char));
    kept.flat_map(char::to_lowercase).map(|char| if char == ' ' { '-' } else { char }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fenced_lines_know_their_language() {
        let text = "a\n```console run\nb\n```\nc\n````md\n```\n````\n";
        let places: Vec<_> =
            lines(text).into_iter().map(|line| (line.number, line.text, line.place)).collect();
        assert_eq!(
            places,
            [
                (1, "a", Place::Prose),
                (3, "b", Place::Fenced("console".into())),
                (5, "c", Place::Prose),
                (7, "```", Place::Fenced("md".into())),
            ]
        );
    }

    #[test]
    fn code_spans_and_links_are_told_apart() {
        assert_eq!(code_spans("a `b` c `d e` f ` g"), ["b", "d e"]);
        assert_eq!(link_targets("[a](b.md) `[c](d.md)` [e](f.md#g \"title\")"), ["b.md", "f.md#g"]);
        assert_eq!(link_targets("[a]: docs/b.md"), ["docs/b.md"]);
    }

    #[test]
    fn headings_make_anchors() {
        assert_eq!(
            anchors("# The way of a claim\n## 6. `core`, api\n"),
            ["the-way-of-a-claim", "6-core-api"]
        );
    }
}
