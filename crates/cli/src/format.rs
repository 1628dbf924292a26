//! Human-readable numbers and tables.

/// `1.5 MiB (1572864 bytes)`-like short form: `1.5 MiB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// `1,234,567`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 row`, `2 rows`: a number of things that have a regular plural.
pub(crate) fn counted(n: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(n), if n == 1 { "" } else { "s" })
}

/// The alignment of a column of a text table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Columns of text, aligned under their titles.
pub(crate) struct TextTable {
    titles: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    pub(crate) fn new(titles: &[(&'static str, Align)]) -> Self {
        Self { titles: titles.to_vec(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table, each line after `indent`.
    pub(crate) fn render(&self, indent: &str) -> String {
        let widths: Vec<usize> = (0..self.titles.len())
            .map(|i| {
                let cells = self.rows.iter().filter_map(|row| row.get(i)).map(|cell| cell.chars().count());
                cells.max().unwrap_or(0).max(self.titles[i].0.chars().count())
            })
            .collect();
        let titles: Vec<String> = self.titles.iter().map(|(title, _)| (*title).to_owned()).collect();
        let mut text = String::new();
        for row in std::iter::once(&titles).chain(&self.rows) {
            let cells = row.iter().zip(&self.titles).zip(&widths).map(|((cell, (_, align)), width)| {
                let fill = " ".repeat(width.saturating_sub(cell.chars().count()));
                if *align == Align::Right { format!("{fill}{cell}") } else { format!("{cell}{fill}") }
            });
            let line = cells.collect::<Vec<_>>().join("  ");
            text.push_str(indent);
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(12), "12");
    }

    #[test]
    fn columns_line_up() {
        let mut table = TextTable::new(&[("name", Align::Left), ("n", Align::Right)]);
        table.row(["a".to_owned(), "100".to_owned()]);
        table.row(["long name".to_owned(), "7".to_owned()]);
        assert_eq!(table.render("  "), "  name         n\n  a          100\n  long name    7\n");
    }
}
