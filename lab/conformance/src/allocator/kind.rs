//! The kind of error behind the reference's words.

/// What the reference's text contains, and the kind of error that it is. The recorded texts may be cut off, so that a
/// fragment stands as early in the text as it can; the first that is found counts.
const FRAGMENTS: &[(&str, &str)] = &[
    ("has subrequests", "gate"),
    ("has capacity requests", "gate"),
    ("admin access is requested", "gate"),
    ("cannot handle request with derived", "gate"),
    ("CEL expression empty", "selector-empty"),
    ("CEL compile error", "selector-compile"),
    ("CEL runtime error", "selector-run"),
    ("is currently being updated", "all-pool-incomplete"),
    ("is currently invalid", "all-pool-invalid"),
    ("asks for all devices", "all-pool"),
    ("cannot add device", "all-constraint"),
    ("missing device class name", "class-unnamed"),
    ("could not retrieve device class", "class-unknown"),
    ("number of requested devices", "limit"),
    ("is too large", "limit"),
    ("capacity for device", "capacity"),
    ("derived attribute", "derived"),
    ("empty constraint", "constraint-empty"),
    ("unsupported count mode", "mode"),
    ("invalid resource pools", "pool-invalid"),
    ("gather pool information", "node-selector"),
    ("create NodeSelector", "node-selector"),
    ("node selection", "node-selector"),
];

/// The kind of the reference's error.
pub(super) fn of(text: &str) -> &'static str {
    let known = FRAGMENTS.iter().find(|(fragment, _)| text.contains(fragment));
    known.map_or("unknown", |(_, kind)| kind)
}

/// Whether our kind of error is the reference's. Where its text ends before it says what is wrong with the pool, either
/// of ours will do.
pub(super) fn agrees(reference: &str, ours: &str) -> bool {
    reference == ours
        || (reference == "all-pool" && ["all-pool-incomplete", "all-pool-invalid"].contains(&ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_reference_have_a_kind_even_when_cut_off() {
        for (text, kind) in [
            ("claim c, request r: has subrequests, but the DRAPrioritizedList featur", "gate"),
            ("claim c, subrequest s: has capacity requests, but the DRAConsumable", "gate"),
            ("claim c, request r: admin access is requested, but the feature is disa", "gate"),
            ("claim c, request r: cannot handle request with derived attributes, the", "gate"),
            ("claim c, request r, selector #0: CEL expression empty (unsupported sel", "selector-empty"),
            (
                "claim c: selector #0: CEL compile error: compilation failed: ERROR: <input",
                "selector-compile",
            ),
            ("class a: selector #0 on device d/p/a: CEL runtime error", "selector-run"),
            (
                "claim c, request r: asks for all devices, but resource pool d/p is currently being updated",
                "all-pool-incomplete",
            ),
            (
                "claim c, request r: asks for all devices, but resource pool d/p is currently invalid",
                "all-pool-invalid",
            ),
            ("claim c, request r: asks for all devices, but resource pool d", "all-pool"),
            ("claim c, request r: cannot add device d/p/a because", "all-constraint"),
            ("claim c, request r: missing device class name (unsupported request typ", "class-unnamed"),
            ("claim c, request r: could not retrieve device class unknown-class:  \"n", "class-unknown"),
            ("claim c: number of requested devices 33 exceeds the claim limit of 32", "limit"),
            ("claim c, request r: checking capacity for device a: capacity \"c", "capacity"),
            ("evaluate derived attribute a/b on device d/p/a fa", "derived"),
            ("claim c, constraint #0: empty constraint (unsupported constraint type?)", "constraint-empty"),
            ("claim c, request r: unsupported count mode future-mode", "mode"),
            ("invalid resource pools were encountered", "pool-invalid"),
            (
                "create NodeSelector for claim c: unsupported ResourceSlice.NodeSelector with 2 terms",
                "node-selector",
            ),
            ("gather pool information: failed to perform node selection", "node-selector"),
            ("out of cheese", "unknown"),
        ] {
            assert_eq!(of(text), kind, "{text}");
        }
    }

    #[test]
    fn a_text_that_ends_too_early_agrees_with_either() {
        assert!(agrees("all-pool", "all-pool-invalid") && agrees("all-pool", "all-pool-incomplete"));
        assert!(agrees("gate", "gate") && !agrees("gate", "mode") && !agrees("all-pool-invalid", "all-pool"));
    }
}
