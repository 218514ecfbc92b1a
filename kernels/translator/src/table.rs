//! The table of LLVM's words, and of what is one instruction of PTX or a few. It says how it is
//! read.

use std::sync::LazyLock;

/// Kind, pattern of names, and text of each row.
static ROWS: LazyLock<Vec<[&str; 3]>> = LazyLock::new(|| {
    let rows = include_str!("table.txt").lines().filter(|row| !row.starts_with('#'));
    rows.filter_map(|row| row.splitn(3, ' ').collect::<Vec<_>>().try_into().ok()).collect()
});

/// All rows of a kind: a pattern of names, and a text.
pub(crate) fn rows(kind: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    ROWS.iter().filter(move |row| row[0] == kind).map(|[_, pattern, text]| (*pattern, *text))
}

/// Whether a word is one of those that a row lists.
pub(crate) fn lists(row: &str, word: &str) -> bool {
    rows("words").any(|(name, words)| name == row && words.split(' ').any(|one| one == word))
}

/// The text that stands behind a name in the rows of a kind.
pub(crate) fn find(kind: &str, name: &str) -> Option<String> {
    let first = name.split('.').next().unwrap_or_default();
    rows(kind).filter(|(pattern, _)| pattern.contains(first)).find_map(|(pattern, text)| {
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
