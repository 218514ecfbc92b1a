//! Text that is safe in a page.
//!
//! Records come from strangers, and what this crate writes is read three times more: as
//! Markdown, by mdBook's own `{{#include}}` directives, and as HTML.

/// `text` as XML character data or attribute value: markup escaped, line breaks and other
/// control characters, which XML 1.0 forbids, made spaces.
pub fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// `text` for an HTML block or attribute. Braces are written as entities too: mdBook
/// looks for `{{#include …}}` in what this crate has written, and a GPU's name must not
/// be able to include a file. Line breaks are spaces: a blank line ends HTML in Markdown.
pub fn escape(text: &str) -> String {
    xml(text).replace('\'', "&#39;").replace('{', "&#123;")
}

/// `text` for the middle of a paragraph, where Markdown is read around it.
pub fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in escape(text).chars() {
        if "*_`[]()\\~|$^!".contains(c) {
            out.push_str(&format!("&#{};", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// A sentence out of `claims.toml` or a block: `` `code` `` and web addresses are set as
/// such, everything else is plain.
pub fn prose(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        if i % 2 == 1 {
            out.push_str(&format!("<code>{}</code>", escape(part)));
            continue;
        }
        for word in part.split_inclusive(char::is_whitespace) {
            let address = word.trim_end_matches(|c: char| c.is_whitespace() || ".,;:)".contains(c));
            if address.starts_with("https://") || address.starts_with("http://") {
                let (safe, rest) = (escape(address), escape(&word[address.len()..]));
                out.push_str(&format!("<a href=\"{safe}\">{safe}</a>{rest}"));
            } else {
                out.push_str(&escape(word));
            }
        }
    }
    out
}

/// `text` with a small first letter, as it stands after a colon, unless its first word is a name
/// or has more than letters and one capital.
pub fn uncapitalised(text: &str) -> String {
    const NAMES: [&str; 7] = ["Ampere", "Blackwell", "Hopper", "Intel", "Linux", "Python", "Rust"];
    let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut chars = text.chars();
    match chars.next() {
        Some(first) if word.chars().skip(1).all(char::is_lowercase) && !NAMES.contains(&word) => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_goes_on_in_small_letters() {
        for (sentence, small) in [
            ("Counting bytes comes close.", "counting bytes comes close."),
            ("A copy", "a copy"),
            ("That's it", "that's it"),
            ("INT8's time", "INT8's time"),
            ("L2 cache", "L2 cache"),
            ("Hopper's own", "Hopper's own"),
            ("`Direct` is slower", "`Direct` is slower"),
            ("<code>A</code>", "<code>A</code>"),
            ("", ""),
        ] {
            assert_eq!(uncapitalised(sentence), small);
        }
    }

    #[test]
    fn nothing_of_a_stranger_is_markup() {
        let cases = [
            (escape("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;"),
            (escape("{{#include /etc/passwd}}"), "&#123;&#123;#include /etc/passwd}}"),
            (escape("a\n\nb"), "a  b"),
            (xml("a<b> & \"c\"\n\0'"), "a&lt;b&gt; &amp; &quot;c&quot;  '"),
            (inline("[x](y) *z*"), "&#91;x&#93;&#40;y&#41; &#42;z&#42;"),
            (
                prose("run `a < b`, see https://x.org/?a&b."),
                "run <code>a &lt; b</code>, \
             see <a href=\"https://x.org/?a&amp;b\">https://x.org/?a&amp;b</a>.",
            ),
            (prose("javascript:alert(1)"), "javascript:alert(1)"),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }
}
