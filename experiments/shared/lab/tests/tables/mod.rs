//! The tables that an experiment has printed.

/// Rows under one heading.
pub(crate) struct Table<'a> {
    heading: &'a str,
    pub(crate) rows: Vec<&'a str>,
}

/// All of them. A heading ends with a line that begins with `case`, and a table with an empty
/// line; notes stand between the rows.
pub(crate) fn of(printed: &str) -> Vec<Table<'_>> {
    let mut tables: Vec<Table> = vec![];
    let mut inside = false;
    for line in printed.lines() {
        if line.split(' ').next() == Some("case") {
            inside = true;
            tables.push(Table { heading: line, rows: vec![] });
        } else if line.is_empty() {
            inside = false;
        } else if inside
            && !line.starts_with([' ', '\u{1b}'])
            && !line.starts_with("note ")
            && !line.starts_with("skipped:")
        {
            tables.last_mut().expect("it has a heading").rows.push(line);
        }
    }
    tables
}

/// No line is wider than `width`; columns are columns, and in none is nothing.
#[track_caller]
pub(crate) fn check(printed: &str, width: usize) {
    for line in printed.lines() {
        assert!(line.chars().count() <= width, "wider than {width}:\n{line}");
    }
    let tables = of(printed);
    assert!(!tables.is_empty(), "no table in:\n{printed}");
    for Table { heading, rows } in tables {
        let cells: Vec<Vec<&str>> = rows.iter().map(|row| cells(row)).collect();
        let columns = cells.first().expect("a heading has rows").len();
        for (row, cells) in rows.iter().zip(&cells) {
            assert_eq!(cells.len(), columns, "out of line:\n{heading}\n{row}");
        }
        for column in 0..columns {
            let empty = cells.iter().all(|cells| cells[column] == "–");
            assert!(!empty, "column {column} is empty:\n{heading}\n{}", rows.join("\n"));
        }
    }
}

/// Two spaces or more end a cell.
fn cells(row: &str) -> Vec<&str> {
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect()
}
