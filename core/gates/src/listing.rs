//! The gates as people read them.
//!
//! Invariant: columns are aligned by spaces alone, the widest column comes last, and no line ends in a space.

use crate::{Gate, Preset};

const HEADER: [&str; 5] = ["NAME", "STAGE", "DEFAULT", "NEEDS", "MEANING"];

/// All gates, a line each: name, stage, default, needs and meaning.
pub fn listing() -> String {
    let rows: Vec<[String; 5]> =
        std::iter::once(HEADER.map(str::to_owned)).chain(Gate::ALL.iter().map(|gate| row(*gate))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: [usize; 4] = [width(0), width(1), width(2), width(3)];
    let mut text = String::new();
    for row in &rows {
        for (cell, width) in row.iter().zip(widths) {
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(&row[4]);
        text.push('\n');
    }
    text
}

fn row(gate: Gate) -> [String; 5] {
    let spec = gate.spec();
    let default = match spec.preset {
        Preset::Off => "off",
        Preset::On => "on",
        Preset::LockedOn => "locked on",
    };
    let needs = match spec.needs {
        [] => "-".to_owned(),
        needs => needs.iter().map(|need| need.name()).collect::<Vec<_>>().join(","),
    };
    [spec.name.to_owned(), spec.stage.to_string(), default.to_owned(), needs, spec.meaning.to_owned()]
}
