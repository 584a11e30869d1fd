//! Tables for people: rows of texts with their cells below each other.

/// Rows with their cells below each other, two spaces apart. The last cell of a row ends its line.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        for (at, cell) in row.iter().enumerate() {
            text.push_str(cell);
            if at + 1 < row.len() {
                let padding = widths[at].saturating_sub(cell.chars().count()) + 2;
                text.extend(std::iter::repeat_n(' ', padding));
            }
        }
        text.push('\n');
    }
    text
}

/// A row of a table.
pub(crate) fn row<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_below_each_other_and_no_line_ends_with_spaces() {
        let rows = [row(["NODE", "STATE"]), row(["größer", "free"]), row(["n", "in use"])];
        assert_eq!(columns(&rows), "NODE    STATE\ngrößer  free\nn       in use\n");
    }
}
