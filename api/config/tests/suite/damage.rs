//! Damaged files: whatever was done to a file, each fault has a place in it, and what is still accepted is written so that
//! it reads back the same.

use config::SchedulerSettings;
use gates::Gates;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const FULL: &str = include_str!("../full.yaml");

/// What is done to a line.
#[derive(Clone, Debug)]
enum Damage {
    Deleted,
    Doubled,
    Indented,
    Value(&'static str),
}

fn damage() -> impl Strategy<Value = Damage> {
    let values = [
        "",
        "~",
        "0",
        "-1",
        "1.0",
        "99999999999999999999",
        "1e300",
        "yes",
        "''",
        "[]",
        "{}",
        "[~]",
        "'*'",
        "1h",
        "List",
        "!!int x",
    ];
    prop_oneof![
        Just(Damage::Deleted),
        Just(Damage::Doubled),
        Just(Damage::Indented),
        select(values.to_vec()).prop_map(Damage::Value),
    ]
}

fn damaged(line: &str, damage: &Damage) -> Vec<String> {
    match damage {
        Damage::Deleted => Vec::new(),
        Damage::Doubled => vec![line.to_owned(), line.to_owned()],
        Damage::Indented => vec![format!("  {line}")],
        Damage::Value(value) => {
            let name = line.split_once(": ").map_or(line, |(name, _)| name).trim_end_matches(':');
            vec![format!("{name}: {value}")]
        }
    }
}

proptest! {
    #[test]
    fn every_fault_has_a_place_and_the_rest_reads_back(
        damages in prop::collection::vec((any::<Index>(), damage()), 1..4),
    ) {
        let mut lines: Vec<_> = FULL.lines().map(str::to_owned).collect();
        for (at, damage) in damages {
            let at = at.index(lines.len());
            let new = damaged(&lines[at], &damage);
            lines.splice(at..=at, new);
        }
        let text = lines.join("\n");
        match SchedulerSettings::read(&text, Gates::default()) {
            Ok(settings) => {
                let again = SchedulerSettings::read(&settings.render(), Gates::default());
                prop_assert_eq!(again, Ok(settings));
            }
            Err(error) => {
                let mut last = 1;
                prop_assert!(!error.faults.is_empty());
                for fault in error.faults {
                    let line = usize::try_from(fault.at.line).expect("a short file");
                    prop_assert!((last..=lines.len() + 1).contains(&line), "{}\n{}", fault, text);
                    last = line;
                }
            }
        }
    }
}
