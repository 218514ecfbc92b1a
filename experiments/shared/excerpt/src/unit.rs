//! What a number is of, and how it is printed. Numbers are kept in SI units, and shares
//! as fractions of one; scaling happens only when they are printed.

use record::units;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// A plain number.
    #[default]
    Number,
    /// A ratio, `4.12×`.
    Ratio,
    /// A share, kept as a fraction of one: `85.0%`.
    Share,
    /// Bytes per second: `55.2 GB/s`.
    Bandwidth,
    /// Additions and multiplications per second: `51.2 TFLOP/s`.
    Arithmetic,
    /// Seconds: `1.23 µs`.
    Time,
    /// Bytes: `4 KiB`.
    Bytes,
    /// A number of things, such as `sectors`.
    Things(String),
}

/// Units that a number is entered in but never kept in, and what is kept instead.
const SCALED: [(&str, f64, Unit); 13] = [
    ("ms", 1e-3, Unit::Time),
    ("µs", 1e-6, Unit::Time),
    ("us", 1e-6, Unit::Time),
    ("ns", 1e-9, Unit::Time),
    ("B/s", 1.0, Unit::Bandwidth),
    ("MB/s", 1e6, Unit::Bandwidth),
    ("GFLOP/s", 1e9, Unit::Arithmetic),
    ("B", 1.0, Unit::Bytes),
    ("KiB", 1024.0, Unit::Bytes),
    ("MiB", 1048576.0, Unit::Bytes),
    ("GiB", 1073741824.0, Unit::Bytes),
    ("x", 1.0, Unit::Ratio),
    ("percent", 0.01, Unit::Share),
];

impl Unit {
    /// The unit that `text` names in a page or in `claims.toml`.
    pub fn parse(text: &str) -> Result<Unit, String> {
        Ok(match text {
            "" => Unit::Number,
            "×" => Unit::Ratio,
            "%" => Unit::Share,
            "GB/s" => Unit::Bandwidth,
            "TFLOP/s" => Unit::Arithmetic,
            "s" => Unit::Time,
            "bytes" => Unit::Bytes,
            text => {
                if let Some((_, _, kept)) = SCALED.iter().find(|(name, _, _)| *name == text) {
                    return Err(format!(
                        "unit `{text}`: write `{}`; the scale is chosen when it is printed",
                        kept.symbol()
                    ));
                }
                Unit::Things(text.to_owned())
            }
        })
    }

    /// The unit as [`Unit::parse`] reads it.
    pub fn symbol(&self) -> &str {
        match self {
            Unit::Number => "",
            Unit::Ratio => "×",
            Unit::Share => "%",
            Unit::Bandwidth => "GB/s",
            Unit::Arithmetic => "TFLOP/s",
            Unit::Time => "s",
            Unit::Bytes => "bytes",
            Unit::Things(name) => name,
        }
    }

    /// `value`, which is kept in this unit, for people: with a minus, not a hyphen.
    pub fn print(&self, value: f64) -> String {
        match self {
            // Three digits of next to nothing would look like a finding.
            Unit::Share if value > 0.0 && value < 1e-4 => "< 0.01%".to_owned(),
            Unit::Share if value < 0.0 && value > -1e-4 => "> −0.01%".to_owned(),
            _ if value < 0.0 => format!("−{}", self.print(-value)),
            Unit::Number => number(value),
            Unit::Ratio => units::ratio(value),
            Unit::Share => units::percent(value),
            Unit::Bandwidth => units::bandwidth(value),
            Unit::Arithmetic => units::arithmetic_rate(value),
            Unit::Time => units::time(value),
            // Sizes can be the result of an expression; only whole ones read as a size.
            Unit::Bytes if value < u64::MAX as f64 => units::bytes(value.round() as u64),
            Unit::Bytes => format!("{} B", number(value)),
            Unit::Things(name) => format!("{} {name}", number(value)),
        }
    }

    /// Two values of this unit, with the unit once: `8.31 to 10.7 GB/s`.
    pub fn print_range(&self, least: f64, most: f64) -> String {
        join(&self.print(least), "to", &self.print(most))
    }

    /// A value with no more digits than it needs: `40×`, not `40.0×`.
    pub fn print_round(&self, value: f64) -> String {
        let printed = self.print(value);
        let (number, unit) = split(&printed);
        let number = match number.contains('.') {
            true => number.trim_end_matches('0').trim_end_matches('.'),
            false => number,
        };
        format!("{number}{unit}")
    }

    /// What a number typed in the unit `text` is multiplied by to be kept in this unit:
    /// 1e9 for GB/s, 0.01 for %. `None` if `text` measures something else.
    pub fn scale_of(&self, text: &str) -> Option<f64> {
        if text == self.symbol() {
            return Some(match self {
                Unit::Share => 0.01,
                Unit::Bandwidth => 1e9,
                Unit::Arithmetic => 1e12,
                _ => 1.0,
            });
        }
        let scaled = SCALED.iter().find(|(name, _, kept)| *name == text && kept == self);
        scaled.map(|(_, scale, _)| *scale)
    }

    /// What a number of this unit is printed in for a reader who was asked for `typed`, and what it
    /// is divided by first: `12,000 bytes`, not `11.7 KiB`.
    pub fn as_typed(&self, typed: &str) -> Result<(Unit, f64), String> {
        let scale = self.scale_of(typed);
        let scale =
            scale.ok_or_else(|| format!("the answer is in `{}`, not `{typed}`", self.symbol()))?;
        Ok(match self {
            Unit::Number | Unit::Ratio | Unit::Share => (self.clone(), 1.0),
            _ => (Unit::Things(typed.to_owned()), scale),
        })
    }

    /// The unit that a name with its unit in it promises: `bytes`, `l2_bytes`,
    /// `bandwidth_bytes_per_second`, `roof_operations_per_second`, `latency_seconds`,
    /// `l2_throughput_percent`.
    pub fn of_name(name: &str) -> Unit {
        if name.ends_with("bytes_per_second") {
            Unit::Bandwidth
        } else if name.ends_with("operations_per_second") {
            Unit::Arithmetic
        } else if name.ends_with("seconds") {
            Unit::Time
        } else if name.ends_with("bytes") {
            Unit::Bytes
        } else if name.ends_with("_percent") {
            Unit::Share
        } else {
            Unit::Number
        }
    }
}

/// The number in front, and the unit behind it.
fn split(printed: &str) -> (&str, &str) {
    let end = printed.find(|c: char| !c.is_ascii_digit() && !"−.,".contains(c));
    printed.split_at(end.unwrap_or(printed.len()))
}

/// Two values with a word between them, as a range has, whose unit is said once if it is the same.
pub fn join(least: &str, word: &str, most: &str) -> String {
    match (split(least), split(most)) {
        ((number, unit), (_, same)) if unit == same => format!("{number} {word} {most}"),
        _ => format!("{least} {word} {most}"),
    }
}

/// A number with three significant digits, but a count without decimals.
fn number(value: f64) -> String {
    let text = units::number(value);
    if value.fract() == 0.0 && text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_print_what_they_keep() {
        let cases = [
            ("", 20.0, "20"),
            ("", 12345.0, "12,345"),
            ("", 0.0, "0"),
            ("", 2.5, "2.50"),
            ("×", 4.1234, "4.12×"),
            ("%", 0.223, "22.3%"),
            ("%", 6.4e-7, "< 0.01%"),
            ("%", 0.0, "0.00%"),
            ("%", -0.000_977, "−0.0977%"),
            ("%", -6.4e-7, "> −0.01%"),
            ("GB/s", 55.23e9, "55.2 GB/s"),
            ("s", 1.234e-6, "1.23 µs"),
            ("bytes", 4096.0, "4 KiB"),
            ("bytes", -1.0, "−1 B"),
            ("bytes", f64::NAN, "– B"),
            ("sectors", 4.0, "4 sectors"),
        ];
        for (unit, value, want) in cases {
            assert_eq!(Unit::parse(unit).unwrap().print(value), want);
        }
        assert_eq!(
            Unit::parse("ms").unwrap_err(),
            "unit `ms`: write `s`; the scale is chosen when it is printed"
        );
    }

    #[test]
    fn a_range_has_its_unit_once() {
        let cases = [
            ("GB/s", 8.31e9, 10.72e9, "8.31 to 10.7 GB/s"),
            ("s", 9.5e-7, 1.2e-6, "950 ns to 1.20 µs"),
            ("×", 1.5, 2.0, "1.50 to 2.00×"),
            ("%", 0.1, 0.2, "10.0 to 20.0%"),
            ("", -2.5, 3.0, "−2.50 to 3"),
        ];
        for (unit, least, most, want) in cases {
            assert_eq!(Unit::parse(unit).unwrap().print_range(least, most), want);
        }
    }

    #[test]
    fn a_guess_is_scaled_to_what_is_kept() {
        let cases = [
            ("%", "%", Some(0.01)),
            ("GB/s", "GB/s", Some(1e9)),
            ("s", "µs", Some(1e-6)),
            ("bytes", "MiB", Some(1048576.0)),
            ("×", "×", Some(1.0)),
            ("sectors", "sectors", Some(1.0)),
            ("s", "GB/s", None),
            ("", "%", None),
        ];
        for (kept, typed, want) in cases {
            assert_eq!(Unit::parse(kept).unwrap().scale_of(typed), want, "{kept} {typed}");
        }
    }
}
