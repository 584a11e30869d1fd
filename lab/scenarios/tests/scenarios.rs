//! Every scenario of the workspace comes out as it says.

use std::fs;

use scenarios::{Verdict, files, folder, shown, verdicts};

#[test]
fn every_scenario_comes_out_as_it_says() {
    let mut failures = Vec::new();
    let (mut passed, mut pending, mut steps) = (0, 0, 0);
    for path in files(&folder()).expect("there are scenarios") {
        let file = shown(&path);
        let text = fs::read_to_string(&path).expect("a scenario is readable");
        println!("{file}");
        let outcomes = verdicts(&file, &text).unwrap_or_else(|failure| {
            failures.push(failure.to_string());
            Vec::new()
        });
        for outcome in outcomes {
            println!("  {outcome}");
            steps += outcome.steps;
            match outcome.verdict {
                Verdict::Passed => passed += 1,
                Verdict::Pending { .. } => pending += 1,
                Verdict::Failed(failure) => failures.push(failure.to_string()),
            }
        }
    }
    println!("{passed} passed, {pending} pending, {} failed; {steps} steps", failures.len());
    assert!(failures.is_empty(), "{} failed\n\n{}\n", failures.len(), failures.join("\n\n"));
    assert!(passed > 0, "no scenario passed");
}
