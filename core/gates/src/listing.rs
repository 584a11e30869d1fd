//! The gates as people read them.
//!
//! Invariant: columns are aligned by spaces alone, the widest column comes last, and no line ends in a space.

use crate::{Gate, Gates, Preset};

const HEADER: [&str; 5] = ["NAME", "STAGE", "DEFAULT", "NEEDS", "MEANING"];
/// Where the state goes, beside the default that it may differ from.
const STATE_COLUMN: usize = 3;

/// All gates, a line each: name, stage, default, needs and meaning.
pub fn listing() -> String {
    let rows = Gate::ALL.iter().map(|gate| row(*gate).to_vec());
    aligned(&std::iter::once(HEADER.map(str::to_owned).to_vec()).chain(rows).collect::<Vec<_>>())
}

/// The same with one more column that says whether the gate is on in `gates`.
pub fn listing_of(gates: Gates) -> String {
    let mut header = HEADER.map(str::to_owned).to_vec();
    header.insert(STATE_COLUMN, "STATE".to_owned());
    let rows = Gate::ALL.iter().map(|gate| {
        let mut cells = row(*gate).to_vec();
        cells.insert(STATE_COLUMN, if gates.enabled(*gate) { "on" } else { "off" }.to_owned());
        cells
    });
    aligned(&std::iter::once(header).chain(rows).collect::<Vec<_>>())
}

fn aligned(rows: &[Vec<String>]) -> String {
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(String::len).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let Some((last, before)) = row.split_last() else { continue };
        for (column, cell) in before.iter().enumerate() {
            let width = width(column);
            text.push_str(&format!("{cell:width$}  "));
        }
        text.push_str(last);
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
