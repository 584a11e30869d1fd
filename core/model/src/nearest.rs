//! The known name that a misspelt one most likely meant.
//!
//! Invariant: upper and lower case count as equal, and of equally near names the first wins.

/// Names longer than this are cut before they are compared, so that no input is slow to refuse.
const CHARACTERS_MAX: usize = 100;

/// The candidate that takes the fewest edits to reach.
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates.min_by_key(|candidate| distance(name, candidate))
}

/// The same if it can well be what was meant: at most every third character differs.
pub fn near<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().take(CHARACTERS_MAX).count().max(3);
    nearest(name, candidates).filter(|nearest| 3 * distance(name, nearest) <= length)
}

/// Characters to insert, delete or replace to turn one name into the other.
fn distance(a: &str, b: &str) -> usize {
    let fold = |text: &str| -> Vec<char> {
        text.chars().take(CHARACTERS_MAX).map(|character| character.to_ascii_lowercase()).collect()
    };
    let (a, b) = (fold(a), fold(b));
    // The row holds the distances of a's first characters to every beginning of b.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_far_from_all_is_near_to_none() {
        let known = || ["containers", "os", "volumes"].into_iter();
        assert_eq!(near("contaners", known()), Some("containers"));
        assert_eq!(near("Os", known()), Some("os"));
        assert_eq!((near("boat", known()), near("", known())), (None, None));
        assert_eq!(nearest("boat", known()), Some("os"));
    }

    #[test]
    fn edits_are_counted() {
        for (a, b, edits) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("Abc", "aBC", 0), ("ab", "ba", 2)]
        {
            assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
        }
    }
}
