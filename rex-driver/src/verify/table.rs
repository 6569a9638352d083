//! Tables in an output: a line of headings, and rows of as many cells below it.

/// The columns of a table that hold times or speeds, by their headings.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    of_time: Vec<bool>,
}

impl Columns {
    /// The columns that hold below this line.
    pub(super) fn below(self, line: &str, speaks_of_time: fn(&str) -> bool) -> Columns {
        let cells = cells(line);
        let is_rule = line.chars().all(|c| !c.is_alphanumeric()) && !line.trim().is_empty();
        let has_number = line.contains(|c: char| c.is_ascii_digit());
        if is_rule || (has_number && cells.len() == self.of_time.len()) {
            return self;
        }
        let of_time: Vec<bool> = match has_number || cells.len() < 2 {
            true => Vec::new(),
            false => cells.into_iter().map(speaks_of_time).collect(),
        };
        Columns { of_time }
    }

    /// The cells of a row, and whether each is a time; nothing if the line is no row of this table.
    pub(super) fn row<'l>(&self, line: &'l str) -> Option<Vec<(&'l str, bool)>> {
        let cells = cells(line);
        let is_row = self.of_time.contains(&true) && cells.len() == self.of_time.len();
        is_row.then(|| {
            cells
                .into_iter()
                .zip(self.of_time.iter().copied())
                .collect()
        })
    }
}

/// What tabs, or several blanks, separate.
fn cells(line: &str) -> Vec<&str> {
    line.split('\t')
        .flat_map(|part| part.split("  "))
        .map(str::trim)
        .filter(|cell| !cell.is_empty())
        .collect()
}
