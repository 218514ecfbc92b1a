//! The text that a prediction veils in the page, which mdBook's search shall not print either: it
//! leaves out what a `style` element holds. So this text is put into one, and when the book is
//! finished that goes again.

/// Markdown goes on after a comment's line, which it does not after one with a tag alone.
const BEGIN: &str = "<!--veiled--><style>";
const END: &str = "<!--veiled--></style>";
const FIGURE: &str = "<figure class=\"chart\"";
const PREDICTION: &str = "<section class=\"prediction\"";
const OF_FIGURE: &str = " data-figure=\"";
/// The heading at which a veil does not end.
const WHY: &str = "## Why";

/// The charts that predictions veil, by their ids; a reference's stands beside a reader's own.
pub fn is_veiled(text: &str, figure: &str) -> bool {
    let id = figure.split("id=\"").nth(1).map(quoted).unwrap_or_default();
    let mut veiled = text.split(OF_FIGURE).skip(1).map(quoted);
    veiled.any(|veiled| veiled == id.trim_end_matches("-reference"))
}

fn quoted(text: &str) -> &str {
    text.split('"').next().unwrap_or_default()
}

/// A page's text in which the search does not see what stands below a veiled chart, or below a
/// prediction that veils none, up to the next chart, prediction, fold or heading other than *Why*:
/// as in `predictions.js`, which veils it.
pub fn cover(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut depth, mut fenced, mut covered) = (0_usize, false, false);
    // What will veil the text below it, until its last line; and the folds around what veils it.
    let (mut veiling, mut veiled) = (None, None);
    for line in text.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        let is_why = line.trim_end() == WHY;
        let heading = !fenced && line.starts_with('#') && !is_why;
        let around = depth;
        depth += line.matches("<details").count();
        depth = depth.saturating_sub(line.matches("</details").count());
        if heading || line.starts_with(FIGURE) || line.starts_with(PREDICTION) {
            veiled = None;
        }
        if line.starts_with(FIGURE) && is_veiled(text, line) {
            veiling = Some("</figure>");
        } else if line.starts_with(PREDICTION) && !line.contains(OF_FIGURE) {
            veiling = Some("</section>");
        }
        veiled = veiled.filter(|of| *of <= depth);
        let covers = veiled == Some(depth) && around == depth && !is_why;
        if covered && !covers || !covered && covers && !line.trim().is_empty() {
            out += &format!("\n{}\n\n", if covers { BEGIN } else { END });
            covered = covers;
        }
        out += line;
        if veiling.is_some_and(|end| line.trim_end().ends_with(end)) {
            (veiling, veiled) = (None, Some(depth));
        }
    }
    if covered {
        out += &format!("\n\n{END}\n");
    }
    out
}

/// A finished page without what [`cover`] added.
pub fn uncover(html: &str) -> String {
    html.replace(BEGIN, "").replace(END, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_veiled_chart_is_covered_up_to_what_ends_it() {
        let chart = |id: &str| format!("{FIGURE} id=\"figure-{id}\">\n<svg/>\n</figure>\n\n");
        let page = [
            "# P\n\nasked\n\n",
            &format!("{PREDICTION}{OF_FIGURE}figure-a\">\n</section>\n\nbefore\n\n"),
            &chart("a"),
            "twice as fast\n\n```sh\n# not a heading\n```\n\n- so\n\n- and so\n\n",
            "<details><summary>Why?</summary>\n\nfolded\n\n</details>\n\nstill\n\n## Why\n\nit is\n\n",
            "## Free\n\nfree\n\n",
            &chart("a-reference"),
            "as fast\n\n",
            &chart("b"),
            "of no guess\n\n<details>\n\n",
            &format!("{PREDICTION}>\n</section>\n\ninner\n\n</details>\n\noutside\n\n"),
            &format!("{PREDICTION}>\n</section>\n\nlast"),
        ]
        .concat();
        let covered = cover(&page);
        let mut parts = covered.split(BEGIN);
        let mut seen = parts.next().unwrap().to_owned();
        let mut hidden = String::new();
        for part in parts {
            let (inside, after) = part.split_once(END).unwrap();
            hidden += inside;
            seen += after;
        }
        let words = |text: &str| -> Vec<String> {
            let lines = text.lines().map(str::trim);
            lines.filter(|l| !l.is_empty() && !l.starts_with('<')).map(str::to_owned).collect()
        };
        let expected =
            ["# P", "asked", "before", "folded", "## Why", "## Free", "free", "of no guess"];
        assert_eq!(words(&seen), [&expected[..], &["outside"]].concat());
        let expected = ["twice as fast", "```sh", "# not a heading", "```", "- so", "- and so"];
        let others = ["still", "it is", "as fast", "inner", "last"];
        assert_eq!(words(&hidden), [&expected[..], &others].concat());
        assert_eq!(words(&uncover(&covered)), words(&page));
    }
}
