//! Names of slices: the same pool always has the same names.
//!
//! A slice whose creation was never answered is found again under its name, and is not made twice. The position comes
//! first, because schedulers look at the slices of a pool in the order of their names.

use crate::publish::pool::Scope;

/// How much of a pool's name goes into the name of a slice: with the longest driver's name it stays below 253 bytes.
const SHOWN_BYTES_MAX: usize = 160;

/// The name of a pool's slice at a position.
pub(crate) fn slice_name(position: usize, driver: &str, pool: &str, scope: &Scope) -> String {
    let driver = driver.to_lowercase();
    let mut shown: String =
        pool.chars().take(SHOWN_BYTES_MAX).map(|c| if c == '/' { '-' } else { c }).collect();
    shown.truncate(shown.trim_end_matches(['-', '.']).len());
    // What was cut off or replaced, and pools of one name on several nodes, still have names of their own.
    let mut hasher = crc32fast::Hasher::new();
    for text in [&*driver, pool, scope.node().unwrap_or_default()] {
        hasher.update(text.as_bytes());
        hasher.update(&[0]);
    }
    format!("{position:05x}-{driver}-{shown}-{:08x}", hasher.finalize())
}

#[cfg(test)]
mod tests {
    use schema::names::dns_subdomain;

    use super::slice_name;
    use crate::publish::pool::Scope;

    #[test]
    fn names_are_legal_ordered_and_distinct() {
        let network = Scope::Network { owner: None };
        let long = "p".repeat(250);
        let driver = format!("{}.example.com", "d".repeat(51));
        let names = [
            slice_name(0, "gpu.example.com", "a/b", &network),
            slice_name(1, "gpu.example.com", "a-b", &network),
            slice_name(2, "gpu.example.com", "a-b", &Scope::Node("n".to_owned())),
            slice_name(300, &driver, &long, &network),
            slice_name(301, &driver, &(long.clone() + "x"), &network),
        ];
        for name in &names {
            assert!(dns_subdomain(name).is_empty() && name.len() <= 253, "{name}");
        }
        assert!(names.is_sorted());
        let hashes: std::collections::BTreeSet<_> =
            names.iter().map(|name| &name[name.len() - 8..]).collect();
        assert_eq!(hashes.len(), names.len());
    }
}
