//! Reads the table of transitions in the header of a file.

/// Asserts that the table in a file's header says what the code does: one row for each stage, with the stage after each event; `-`
/// where there is none.
pub(crate) fn assert_is_so(file: &str, events: &[&str], rows: &[(String, Vec<String>)]) {
    let lines = file.lines().filter_map(|line| line.strip_prefix("//! | "));
    let cells = |line: &str| -> Vec<String> {
        line.split('|').map(|cell| cell.trim().to_owned()).filter(|cell| !cell.is_empty()).collect()
    };
    let told: Vec<Vec<String>> = lines.map(cells).collect();
    assert_eq!(told[0], events, "the events");
    let is_so: Vec<Vec<String>> =
        rows.iter().map(|(stage, cells)| [std::slice::from_ref(stage), &cells[..]].concat()).collect();
    assert_eq!(told[1..], is_so[..], "the transitions");
}
