//! Text: how wide it is, how it is cut or wrapped to fit.
//!
//! Widths are estimated from a table of Open Sans, the book's typeface, rounded up, so
//! that a chart is the same on every machine, with or without fonts.

/// Font size of everything in a chart.
pub(crate) const SIZE: f64 = 13.0;
pub(crate) const LINE: f64 = 16.0;

/// Estimated width in pixels.
pub(crate) fn width(text: &str) -> f64 {
    text.chars().map(em).sum::<f64>() * SIZE
}

/// Advance width in em.
fn em(c: char) -> f64 {
    match c {
        ' ' | '\'' | '!' | '.' | ',' | ':' | ';' | '|' | '·' => 0.27,
        'i' | 'j' | 'l' | 'I' | 'J' => 0.27,
        '(' | ')' | '[' | ']' | '-' | 'f' | 't' | '²' => 0.36,
        '/' | '\\' | 'r' | '{' | '}' | '"' | '?' => 0.43,
        'c' | 's' | 'z' | 'k' | 'v' | 'x' | 'y' | 'F' | 'L' | '_' | '–' => 0.52,
        '0'..='9' | 'a' | 'e' | 'g' | 'E' | 'S' | 'T' | '+' | '=' | '×' => 0.57,
        'b' | 'd' | 'h' | 'n'..='q' | 'u' | 'K' | 'P' | 'V' | 'X'..='Z' => 0.61,
        'D' | 'G' | 'U' | 'H' | 'N' | 'O' | 'Q' | 'w' | '&' | '%' | '…' => 0.8,
        'm' | 'M' | 'W' | '@' => 0.94,
        '!'..='~' | '\u{a1}'..='\u{24f}' => 0.66,
        _ => 1.0,
    }
}

/// The text, or its beginning and an ellipsis if it is wider than `limit`.
pub(crate) fn cut(text: &str, limit: f64) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut room = limit - width("…");
    let kept = text.chars().take_while(|&c| {
        room -= em(c) * SIZE;
        room >= 0.0
    });
    format!("{}…", kept.collect::<String>().trim_end())
}

/// The text broken at spaces into at most `most` lines of at most `limit` pixels.
pub(crate) fn wrap(text: &str, limit: f64, most: usize) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + width(" ") + width(word) <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let fits = lines.len() <= most && lines.iter().all(|line| width(line) <= limit);
    fits.then_some(lines)
}
