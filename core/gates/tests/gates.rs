//! What holds for the table of gates, and how settings are read.

use gates::{FeatureStage, Gate, GateError, Gates, Preset, listing, listing_of};

fn parse(text: &str) -> Gates {
    text.parse().expect("the settings should be accepted")
}

fn refusal(text: &str) -> String {
    text.parse::<Gates>().expect_err("the settings should be refused").to_string()
}

#[test]
fn every_gate_is_found_by_its_name() {
    for gate in Gate::ALL {
        assert_eq!(Gate::named(gate.name()), Some(*gate));
        assert_eq!(gate.spec().gate, *gate);
        assert!(!gate.spec().meaning.is_empty() && !gate.spec().meaning.ends_with('.'), "{gate}");
    }
    assert_eq!(Gate::named("dynamicresourceallocation"), None);
}

#[test]
fn alpha_is_off_and_only_stable_gates_are_locked() {
    for gate in Gate::ALL {
        let spec = gate.spec();
        match spec.stage {
            FeatureStage::Alpha => assert_eq!(spec.preset, Preset::Off, "{gate}"),
            FeatureStage::Beta => assert_ne!(spec.preset, Preset::LockedOn, "{gate}"),
            FeatureStage::Ga => assert!(spec.preset.is_on(), "{gate}"),
        }
    }
}

#[test]
fn beta_gates_are_on_but_for_four() {
    let off: Vec<_> = Gate::ALL
        .iter()
        .filter(|gate| gate.spec().stage == FeatureStage::Beta && !Gates::default().enabled(**gate))
        .map(|gate| gate.name())
        .collect();
    let expected = [
        "DRAFractionalCapacityRange",
        "DRAWorkloadResourceClaims",
        "GenericWorkload",
        "SchedulerAsyncAPICalls",
    ];
    assert_eq!(off, expected);
}

#[test]
fn dependencies_have_no_cycle_and_nothing_stable_rests_on_something_younger() {
    fn depth(gate: Gate, above: &mut Vec<Gate>) -> usize {
        assert!(!above.contains(&gate), "{gate} needs itself, by way of {above:?}");
        above.push(gate);
        let depth = gate.spec().needs.iter().map(|need| 1 + depth(*need, above)).max().unwrap_or(0);
        above.pop();
        depth
    }
    let rank = |gate: Gate| gate.spec().stage as u8;
    for gate in Gate::ALL {
        assert!(depth(*gate, &mut Vec::new()) <= 2, "{gate}");
        for need in gate.spec().needs {
            assert!(rank(*need) >= rank(*gate), "{gate} needs {need}");
        }
    }
}

#[test]
fn the_ready_made_sets_satisfy_every_dependency() {
    for gates in
        [Gates::default(), Gates::all_on(), parse("AllAlpha=true,AllBeta=true"), parse("AllBeta=false")]
    {
        for gate in gates.iter() {
            assert_eq!(gates.missing_for(gate).count(), 0, "{gate}");
        }
    }
    assert_eq!(parse("AllAlpha=true,AllBeta=true"), Gates::all_on());
    assert_eq!(Gates::all_on().iter().count(), Gate::ALL.len());
}

#[test]
fn no_settings_are_the_defaults() {
    assert_eq!(parse(""), Gates::default());
    assert_eq!(parse(",,"), Gates::default());
    assert_eq!(parse("DynamicResourceAllocation=true"), Gates::default());
}

#[test]
fn a_name_wins_over_its_stage_wherever_it_stands() {
    for text in [
        "AllAlpha=true,AllBeta=true,DRAListTypeAttributes=false",
        "DRAListTypeAttributes=0,AllBeta=1,AllAlpha=T",
    ] {
        assert_eq!(parse(text), Gates::all_on().with(Gate::DRAListTypeAttributes, false));
    }
    let gates = parse("AllBeta=false,OpportunisticBatching=true");
    assert!(gates.enabled(Gate::OpportunisticBatching) && !gates.enabled(Gate::DRAConsumableCapacity));
    assert!(gates.enabled(Gate::DRADeviceTaints), "a stable gate is not touched by AllBeta");
}

#[test]
fn the_last_setting_of_a_name_counts_and_blanks_do_not() {
    let gates = parse(" GenericWorkload = false , GenericWorkload = true ");
    assert_eq!(gates, Gates::default().with(Gate::GenericWorkload, true));
}

#[test]
fn a_locked_gate_stays_on() {
    assert_eq!(
        refusal("DynamicResourceAllocation=false"),
        "feature gate DynamicResourceAllocation cannot be turned off; hint: remove it, the gate is locked on"
    );
}

#[test]
fn a_gate_without_what_it_needs_is_refused_by_name() {
    assert_eq!(
        refusal("TopologyAwareWorkloadScheduling=true"),
        "feature gate TopologyAwareWorkloadScheduling is on but needs GenericWorkload; hint: set GenericWorkload=true"
    );
    assert_eq!(
        refusal("DRAPartitionableDevicesType=true,DRAPartitionableDevices=false"),
        "feature gate DRAPartitionableDevicesType is on but needs DRAPartitionableDevices,DRAResourcePoolStatus; \
         hint: set DRAPartitionableDevices=true,DRAResourcePoolStatus=true"
    );
    // Turning a gate off can leave one behind that is on by default.
    assert_eq!(
        "DRADeviceTaints=false".parse::<Gates>(),
        Err(GateError::Needs { gate: Gate::DRADeviceTaintRules, missing: vec![Gate::DRADeviceTaints] })
    );
    // Some alpha gates rest on a beta gate that is off.
    assert!(matches!("AllAlpha=true".parse::<Gates>(), Err(GateError::Needs { .. })));
}

#[test]
fn an_unknown_gate_is_answered_with_the_nearest_one() {
    for (name, nearest) in [
        ("DRAPrioritisedList", "DRAPrioritizedList"),
        ("genericworkload", "GenericWorkload"),
        ("AllAlfa", "AllAlpha"),
        ("DRAControlPlaneControllers", "DRAControlPlaneController"),
        ("DRADeviceTaintRule", "DRADeviceTaintRules"),
    ] {
        let expected = format!("unknown feature gate {name}; hint: the nearest known gate is {nearest}");
        assert_eq!(refusal(&format!("{name}=true")), expected);
    }
    assert!(
        refusal(&format!("{}=true", "x".repeat(1_000_000)))
            .ends_with("`supercargo features` lists the gates")
    );
}

#[test]
fn a_gate_of_an_earlier_release_says_where_it_went() {
    assert_eq!(
        refusal("GangScheduling=true"),
        "feature gate GangScheduling no longer exists; hint: remove it, gangs are part of GenericWorkload"
    );
}

#[test]
fn a_bad_value_is_refused_by_item() {
    assert_eq!(
        refusal("GenericWorkload=yes"),
        "feature gate GenericWorkload=yes has a value that is neither true nor false; \
         hint: write GenericWorkload=true or GenericWorkload=false"
    );
    assert_eq!(
        refusal("AllBeta=true,GenericWorkload"),
        "feature gate GenericWorkload has no value; hint: write GenericWorkload=true or GenericWorkload=false"
    );
}

#[test]
fn single_gates_can_be_put_together_for_a_test() {
    let gates: Gates = [Gate::DRAPrioritizedList, Gate::CompositePodGroup].into_iter().collect();
    assert_eq!(gates.iter().collect::<Vec<_>>(), [Gate::DRAPrioritizedList, Gate::CompositePodGroup]);
    assert!(!gates.enabled(Gate::DynamicResourceAllocation));
    assert_eq!(format!("{gates:?}"), "{DRAPrioritizedList, CompositePodGroup}");
}

#[test]
fn the_listing_has_a_line_for_every_gate() {
    let listing = listing();
    let lines: Vec<_> = listing.lines().collect();
    assert_eq!(lines.len(), 1 + Gate::ALL.len());
    assert!(lines[0].starts_with("NAME  ") && lines[0].ends_with("MEANING"));
    let column = lines[0].find("STAGE").expect("the header names the stage");
    for (line, gate) in lines[1..].iter().zip(Gate::ALL) {
        assert!(
            line.starts_with(gate.name()) && line[column..].starts_with(&gate.spec().stage.to_string()),
            "{line}"
        );
        assert_eq!(line.trim_end(), *line);
    }
}

#[test]
fn a_listing_of_given_gates_says_which_are_on() {
    let gates: Gates = "DRAResourcePoolStatus=true".parse().expect("the gate can be turned on");
    let text = listing_of(gates);
    let line =
        text.lines().find(|line| line.starts_with("DRAResourcePoolStatus ")).expect("each gate has a line");
    let state = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).nth(3);
    assert_eq!(state, Some("on"), "{line}");
    assert_eq!(text.lines().next().map(|line| line.contains("STATE")), Some(true));
    assert!(text.lines().all(|line| !line.ends_with(' ')));
}

#[test]
fn what_is_needed_is_turned_on_unless_a_setting_turns_it_off() {
    let check = |text: &str, needed: &[Gate], turned_on: &[Gate]| {
        let (gates, turned) =
            Gates::with_needed(text, needed.iter().copied()).expect("the settings are accepted");
        assert_eq!(turned, turned_on, "{text} {needed:?}");
        assert!(turned.iter().all(|gate| gates.enabled(*gate)), "{text} {needed:?}");
        gates
    };
    let groups = Gate::DRADeviceCompatibilityGroups;
    check("", &[], &[]);
    check("", &[groups], &[groups]);
    // What it needs itself comes first.
    check("", &[Gate::DRAWorkloadResourceClaims], &[Gate::GenericWorkload, Gate::DRAWorkloadResourceClaims]);
    check("DRAWorkloadResourceClaims=true", &[Gate::DRAWorkloadResourceClaims], &[Gate::GenericWorkload]);
    check("AllAlpha=true,AllBeta=true", &[groups], &[]);
    for off in ["DRADeviceCompatibilityGroups=false", "AllAlpha=false", "DRAPartitionableDevices=false"] {
        assert!(!check(off, &[groups], &[]).enabled(groups), "{off}");
    }
    let later = "DRADeviceCompatibilityGroups=false,DRADeviceCompatibilityGroups=true";
    assert!(check(later, &[groups], &[]).enabled(groups));
    let error = Gates::with_needed("GenericWorkload=maybe", [groups]).expect_err("it is no setting");
    assert!(matches!(error, GateError::BadValue { .. }));
}
