//! The table of what is one instruction of PTX, or a few. It says how it is read.

const TABLE: &str = include_str!("table.txt");

/// All rows of a kind: a pattern of names, and a text.
pub(crate) fn rows(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = TABLE.lines().filter_map(move |row| row.strip_prefix(kind)?.strip_prefix(' '));
    rows.filter_map(|row| row.split_once(' '))
}

/// The text that stands behind a name in the rows of a kind.
pub(crate) fn find(kind: &str, name: &str) -> Option<String> {
    rows(kind).find_map(|(pattern, text)| {
        let (mut text, mut words) = (text.to_owned(), name.split('.'));
        let fits = pattern.split('.').all(|pattern| {
            let word = words.next().unwrap_or_default();
            let mut ways = pattern.split('|').map(|one| one.split_once('=').unwrap_or((one, one)));
            let way = ways.find(|(own, _)| *own == word);
            if let Some((_, meant)) = way.filter(|_| pattern.contains('|')) {
                text = text.replacen('*', meant, 1);
            }
            way.is_some() || pattern == "_"
        });
        (fits && words.next().is_none()).then_some(text)
    })
}
