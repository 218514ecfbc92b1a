//! How quantities are printed for people: three significant digits, one space, the
//! unit. Rates and times are SI (GB/s is 10⁹ bytes per second); sizes are binary.

/// `1.23 µs`, `45.6 ms`, `2.00 s`.
pub fn time(seconds: f64) -> String {
    let (scale, unit) = match seconds.abs() {
        // What three digits would round up to the next unit has that unit.
        s if s < 0.9995e-6 => (1e9, "ns"),
        s if s < 0.9995e-3 => (1e6, "µs"),
        s if s < 0.9995 => (1e3, "ms"),
        _ => (1.0, "s"),
    };
    format!("{} {unit}", number(seconds * scale))
}

/// `55.2 GB/s`, `3,921 GB/s`, `12.0 MB/s`.
pub fn bandwidth(bytes_per_second: f64) -> String {
    if bytes_per_second.abs() < 0.1e9 {
        format!("{} MB/s", number(bytes_per_second / 1e6))
    } else {
        format!("{} GB/s", number(bytes_per_second / 1e9))
    }
}

/// `51.2 TFLOP/s`, or GFLOP/s below a tenth of one.
pub fn arithmetic_rate(operations_per_second: f64) -> String {
    if operations_per_second.abs() < 0.1e12 {
        format!("{} GFLOP/s", number(operations_per_second / 1e9))
    } else {
        format!("{} TFLOP/s", number(operations_per_second / 1e12))
    }
}

/// `4 KiB`, `1 GiB`, `2.5 MiB`, `17 B`.
pub fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value} {}", UNITS[unit])
    } else {
        format!("{} {}", number(value), UNITS[unit])
    }
}

/// A text's first word that is a whole number, with what stands before and after it. Where the
/// next word is MiB, it counts those: [`amount`] prints it.
pub fn first_amount(text: &str) -> Option<(&str, u64, &str)> {
    let mut start = 0;
    text.split_inclusive(' ').find_map(|word| {
        let (before, end) = (&text[..start], start + word.trim_end().len());
        start += word.len();
        Some((before, word.trim_end().parse().ok()?, &text[end..]))
    })
}

/// A number that [`first_amount`] found, and what is left of the text behind it: `200 GiB` for
/// 204800 before ` MiB`.
pub fn amount(number: u64, after: &str) -> (String, &str) {
    match after.strip_prefix(" MiB").zip(number.checked_mul(1 << 20)) {
        Some((rest, size)) => (bytes(size), rest),
        None => (count(number), after),
    }
}

/// `85.0%` for 0.85.
pub fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// A spread: `0.2%`, `15%`, `< 0.1%`. More digits of a spread say nothing.
pub fn spread(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.05 => "< 0.1%".to_owned(),
        percent if percent < 9.95 => format!("{percent:.1}%"),
        percent => format!("{percent:.0}%"),
    }
}

/// `4.12×`.
pub fn ratio(ratio: f64) -> String {
    format!("{}×", number(ratio))
}

/// Three significant digits at least, thousands separated: `0.0123`, `1.23`, `123`,
/// `12,345`. Only numbers that nobody could read so have an exponent: `3.40 × 10³⁸`.
pub fn number(x: f64) -> String {
    if !x.is_finite() {
        return "–".to_owned();
    }
    if x != 0.0 && !(1e-6..1e15).contains(&x.abs()) {
        return scientific(x);
    }
    // Rounding may carry into a new digit (9.996 is 10.0), so round first.
    let digits = |x: f64| if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    let scale = 10f64.powi(2 - digits(x));
    let places = (2 - digits((x * scale).round() / scale)).clamp(0, 12) as usize;
    grouped(&format!("{x:.places$}"))
}

/// Three significant digits and a power of ten.
fn scientific(x: f64) -> String {
    let text = format!("{x:.2e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let raised = |c: char| match c.to_digit(10) {
        Some(digit) => ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'][digit as usize],
        None => '⁻',
    };
    format!("{digits} × 10{}", power.chars().map(raised).collect::<String>())
}

/// A number that was counted, with all its digits: `7`, `12,345`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A decimal number's text, with its thousands apart.
pub fn grouped(text: &str) -> String {
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let (sign, whole) = whole.split_at(usize::from(whole.starts_with('-')));
    let mut grouped = String::new();
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    format!("{sign}{grouped}{fraction}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_as_people_write_them() {
        let cases = [
            (time(1.234e-7), "123 ns"),
            (time(9.9996e-7), "1.00 µs"),
            (time(4.56e-2), "45.6 ms"),
            (time(2.0), "2.00 s"),
            (bandwidth(55.23e9), "55.2 GB/s"),
            (bandwidth(3921.4e9), "3,921 GB/s"),
            (bandwidth(12.04e6), "12.0 MB/s"),
            (bytes(1024), "1 KiB"),
            (bytes(1 << 30), "1 GiB"),
            (bytes(5 << 19), "2.50 MiB"),
            (bytes(17), "17 B"),
            (percent(0.8504), "85.0%"),
            (spread(0.000_04), "< 0.1%"),
            (spread(0.0021), "0.2%"),
            (spread(0.1532), "15%"),
            (ratio(4.1234), "4.12×"),
            (number(9.996), "10.0"),
            (number(0.0), "0.00"),
            (number(-1234.5), "-1,234"),
            (number(0.01234), "0.0123"),
            (number(f64::NAN), "–"),
            (number(f64::from(f32::MAX)), "3.40 × 10³⁸"),
            (number(-1.401e-45), "-1.40 × 10⁻⁴⁵"),
            (count(7), "7"),
            (count(1_048_576), "1,048,576"),
        ];
        for (got, want) in cases {
            assert_eq!(got, want);
        }
    }
}
