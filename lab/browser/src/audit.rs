//! Rules of accessibility that a page is held to, as a script that runs in it. They are those of WCAG 2.1 at level AA that a script can
//! judge: names of controls, contrast of text, the order of headings, landmarks, languages, tables, ids and targets of links.

use anyhow::Result;

use crate::Tab;

const SCRIPT: &str = include_str!("audit.js");

/// What is wrong with a page; nothing if it keeps the rules.
///
/// # Errors
/// The browser does not answer.
pub fn violations(tab: &Tab) -> Result<Vec<String>> {
    let found = tab.eval(SCRIPT)?;
    let found = found.as_array().cloned().unwrap_or_default();
    Ok(found.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect())
}
