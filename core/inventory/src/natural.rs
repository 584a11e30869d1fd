//! The order in which people look for names: numbers within them by their value, so that `gpu-2` comes before `gpu-10`.

use std::cmp::Ordering;

/// Compares two names. Names that differ in leading zeros only are in the order of their texts.
pub(crate) fn natural(left: &str, right: &str) -> Ordering {
    let (mut one, mut other) = (left, right);
    while let (Some(a), Some(b)) = (one.chars().next(), other.chars().next()) {
        let order = if a.is_ascii_digit() && b.is_ascii_digit() {
            let (number, rest) = number(one);
            let (second, others_rest) = self::number(other);
            (one, other) = (rest, others_rest);
            number.len().cmp(&second.len()).then_with(|| number.cmp(second))
        } else {
            (one, other) = (&one[a.len_utf8()..], &other[b.len_utf8()..]);
            a.cmp(&b)
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    one.len().cmp(&other.len()).then_with(|| left.cmp(right))
}

/// The number at the beginning of a text, without leading zeros, and what comes after it.
fn number(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (text[..end].trim_start_matches('0'), &text[end..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_within_names_are_in_the_order_of_their_values() {
        let mut names = ["node-10", "node-2", "node-1-b", "node-1", "node-02", "a", "node", "ü-3", "ü-20"];
        names.sort_by(|left, right| natural(left, right));
        assert_eq!(names, ["a", "node", "node-1", "node-1-b", "node-02", "node-2", "node-10", "ü-3", "ü-20"]);
    }
}
