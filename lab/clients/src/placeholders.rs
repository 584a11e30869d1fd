//! Replaces what differs from run to run by placeholders, so that outputs can be compared as text.

use regex::Regex;

/// Placeholders, and what each of them stands for.
pub(crate) struct Placeholders(Vec<(Regex, &'static str)>);

const RULES: [(&str, &str); 9] = [
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "<uid>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
    (r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "<time>"),
    (r#"(resourceVersion"?: )"\d+""#, "$1<rv>"),
    (r"(Resource Version: )\d+", "$1<rv>"),
    (r"(^| )(\d+[smhdy])+( |$)", "$1<age>$3"),
    // Newer versions of kubectl also say where.
    (r"( deleted) from [a-z]+ namespace$", "$1"),
    (r"https://127\.0\.0\.1:\d+", "<server>"),
    (r"/tmp/(LIVE|MERGED)-\d+", "/tmp/$1-<number>"),
];

impl Default for Placeholders {
    fn default() -> Self {
        let compile = |(pattern, placeholder)| {
            (Regex::new(pattern).expect("the pattern is written above and tested below"), placeholder)
        };
        Self(RULES.map(compile).into())
    }
}

impl Placeholders {
    /// The lines of an output that are compared: without blank lines, with blanks collapsed except those that indent.
    pub(crate) fn lines(&self, output: &str) -> Vec<String> {
        output.lines().filter(|line| !line.trim().is_empty()).map(|line| self.line(line)).collect()
    }

    fn line(&self, line: &str) -> String {
        let indent = line.len() - line.trim_start().len();
        let mut text = line.split_whitespace().collect::<Vec<_>>().join(" ");
        for (pattern, placeholder) in &self.0 {
            text = pattern.replace_all(&text, *placeholder).into_owned();
        }
        format!("{}{text}", " ".repeat(indent))
    }
}

#[cfg(test)]
mod tests {
    use super::Placeholders;

    fn check(output: &str, expected: &[&str]) {
        assert_eq!(Placeholders::default().lines(output), expected);
    }

    #[test]
    fn blanks_between_columns_are_one() {
        check("NAME   AGE\n\nlab    15s  \n", &["NAME AGE", "lab <age>"]);
    }

    #[test]
    fn what_differs_from_run_to_run_is_replaced() {
        check(
            "  uid: 0b6ff63d-1b5f-4a8f-9b7b-0c1f6d1a2b3c\n  \"resourceVersion\": \"12\",\n  resourceVersion: \"7\"\n",
            &["  uid: <uid>", "  \"resourceVersion\": <rv>,", "  resourceVersion: <rv>"],
        );
        check("creationTimestamp: \"2026-11-15T12:00:00Z\"", &["creationTimestamp: \"<time>\""]);
        check("Start Time:  Sun, 15 Nov 2026 12:00:00 +0000", &["Start Time: <time>"]);
        check("2m3s  Normal  Placed", &["<age> Normal Placed"]);
        check("318d  Warning  Placed", &["<age> Warning Placed"]);
        check("a  1/1  Running  0  5s  <none>  n1", &["a 1/1 Running 0 <age> <none> n1"]);
    }
}
