//! What a kernel says: `printf`, and `assert`.

use std::borrow::Cow;

use crate::access::active;
use crate::fault::{Fault, FaultKind};
use crate::machine::lane::Direction;
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result};
use crate::program::Print;
use crate::space::Space;

/// Letters of a text at most.
const LONGEST_TEXT: usize = 1 << 12;
/// Instructions that the `printf` of one lane counts as, against the budget.
const PRINT_COST: u64 = 128;

/// What was printed. It keeps the end, as the GPU's buffer does.
#[derive(Debug)]
pub(super) struct Printed {
    text: String,
    /// Bytes before the text, which are lost.
    before: u64,
    /// Bytes that the buffer holds.
    room: usize,
}

impl Printed {
    pub(super) fn new(room: usize) -> Self {
        Self { text: String::new(), before: 0, room }
    }

    fn push(&mut self, text: &str) {
        self.text += text;
        if self.text.len() > self.room.saturating_mul(2) {
            self.forget();
        }
    }

    /// Forgets what the buffer has no room for.
    fn forget(&mut self) {
        let mut start = self.text.len().saturating_sub(self.room);
        while !self.text.is_char_boundary(start) {
            start += 1;
        }
        self.before += start as u64;
        self.text.drain(..start);
    }

    /// What the buffer holds, from the start of a line on if something is lost, and how many
    /// bytes are.
    pub(super) fn last(mut self) -> (String, u64) {
        self.forget();
        if self.before > 0
            && let Some(end) = self.text.find('\n')
        {
            self.before += end as u64 + 1;
            self.text.drain(..=end);
        }
        (self.text, self.before)
    }
}

impl Machine<'_> {
    pub(super) fn print(&mut self, warp: &mut Warp, print: &Print, lanes: u32) -> Result<()> {
        self.executed += PRINT_COST * u64::from(lanes.count_ones());
        for lane in active(lanes) {
            let format = self.pointer(warp, lane, print.format)?;
            let arguments = self.pointer(warp, lane, print.arguments)?;
            let format = self.text(warp, lane, format)?;
            let (text, count) = self.formatted(warp, lane, &format, arguments)?;
            self.printed.push(&text);
            if let Some(result) = print.result {
                let (space, to) = (Space::Local, result.into());
                let count = count.to_le_bytes();
                self.write_lane(warp, space, lane, to, &count, Direction::WRITE)?;
            }
        }
        Ok(())
    }

    pub(super) fn assertion(&mut self, warp: &Warp, places: &[u32], lanes: u32) -> Box<Fault> {
        let lane = lanes.trailing_zeros() as usize;
        let text = |machine: &mut Self, place: usize| {
            let address = machine.pointer(warp, lane, places[place])?;
            machine.text(warp, lane, address)
        };
        let (message, file) = (text(self, 0), text(self, 1));
        let line = self.number(warp, lane, places[2].into(), 4);
        let what = match (message, file, line) {
            (Ok(message), Ok(file), Ok(line)) => {
                format!("assertion `{message}` of line {line} of {file} failed")
            }
            _ => "an assertion failed".to_owned(),
        };
        self.fault(warp, FaultKind::Assertion, lane, what)
    }

    /// A pointer in local memory.
    fn pointer(&mut self, warp: &Warp, lane: usize, place: u32) -> Result<u64> {
        self.number(warp, lane, place.into(), 8)
    }

    fn number(&mut self, warp: &Warp, lane: usize, place: u64, bytes: usize) -> Result<u64> {
        let mut number = [0; 8];
        let into = &mut number[..bytes];
        self.read_lane(warp, Space::Local, lane, place, into, Direction::READ)?;
        self.use_unwritten(warp)?;
        Ok(u64::from_le_bytes(number))
    }

    fn text(&mut self, warp: &Warp, lane: usize, address: u64) -> Result<String> {
        let mut text = Vec::new();
        self.find_buffer(warp.pc, address);
        while text.len() < LONGEST_TEXT {
            let (space, at) = Space::of(address + text.len() as u64);
            let mut byte = [0];
            self.read_lane(warp, space, lane, at, &mut byte, Direction::READ)?;
            self.use_unwritten(warp)?;
            if byte[0] == 0 {
                break;
            }
            text.push(byte[0]);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The text with each directive, such as `%5.2f`, replaced by an argument, and how many
    /// arguments that took. They lie one after the other, each aligned to its size.
    fn formatted(
        &mut self,
        warp: &Warp,
        lane: usize,
        format: &str,
        arguments: u64,
    ) -> Result<(String, u32)> {
        let (mut text, mut count) = (String::new(), 0);
        let mut next = Space::of(arguments).1;
        let mut rest = format;
        while let Some((before, after)) = rest.split_once('%') {
            text += before;
            let options = after.find(|c: char| c.is_ascii_alphabetic() || c == '%');
            let Some(options_end) = options else {
                rest = after;
                break;
            };
            let size = after[options_end..].trim_start_matches(['l', 'h', 'z']);
            let Some(directive) = size.chars().next() else {
                rest = "";
                break;
            };
            let lengths = &after[options_end..after.len() - size.len()];
            rest = &size[directive.len_utf8()..];
            if directive == '%' {
                text.push('%');
                continue;
            }
            let mut argument = |machine: &mut Self, bytes: u64| {
                next = u64::next_multiple_of(next, bytes) + bytes;
                count += 1;
                machine.number(warp, lane, next - bytes, bytes as usize)
            };
            let mut options = Cow::Borrowed(&after[..options_end]);
            if options.contains('*') {
                let width = argument(self, 4)? as u32;
                options = options.replace('*', &width.cast_signed().to_string()).into();
            }
            let wide = lengths.contains(['l', 'z']) || "feEgGaAps".contains(directive);
            let bits = argument(self, if wide { 8 } else { 4 })?;
            let options = Options::of(&options);
            text += &match directive {
                's' => {
                    let letters = options.precision.unwrap_or(usize::MAX);
                    let text = self.text(warp, lane, bits)?;
                    options.padded("", text.chars().take(letters).collect(), false)
                }
                _ => options.shown(directive, bits, wide),
            };
        }
        Ok((text + rest, count))
    }
}

/// What stands between `%` and a directive's letter, of which `+08.3` has all.
struct Options<'a> {
    flags: &'a str,
    width: usize,
    precision: Option<usize>,
}

impl<'a> Options<'a> {
    fn of(text: &'a str) -> Self {
        let rest = text.trim_start_matches(['-', '+', ' ', '#', '0']);
        let flags = &text[..text.len() - rest.len()];
        let (width, precision) = match rest.split_once('.') {
            Some((width, digits)) => (width, Some(digits.parse().unwrap_or(0))),
            None => (rest, None),
        };
        let width = LONGEST_TEXT.min(width.parse().unwrap_or(0));
        let precision = precision.map(|digits: usize| digits.min(LONGEST_TEXT));
        Self { flags, width, precision }
    }

    /// A number as a directive wants it.
    fn shown(&self, directive: char, bits: u64, wide: bool) -> String {
        let signed = if wide { bits as i64 } else { (bits as i32).into() };
        let float = f64::from_bits(bits);
        let precision = self.precision.unwrap_or(6);
        let mut digits = match directive {
            'd' | 'i' => signed.unsigned_abs().to_string(),
            'u' => bits.to_string(),
            'x' | 'X' => format!("{bits:x}"),
            'o' => format!("{bits:o}"),
            'p' if bits == 0 => "(nil)".to_owned(),
            'p' => format!("{bits:#x}"),
            'c' => char::from(bits as u8).to_string(),
            _ if float.is_nan() => "nan".to_owned(),
            'f' | 'F' => format!("{:.precision$}", float.abs()),
            'e' | 'E' => scientific(float.abs(), precision),
            'g' | 'G' => general(float.abs(), precision.max(1)),
            other => return format!("%{other}"),
        };
        let (is_integer, is_float) = ("diuxXo".contains(directive), "fFeEgG".contains(directive));
        let has = |flag| self.flags.contains(flag);
        let prefix = match directive {
            'x' | 'X' if has('#') && bits != 0 => "0x",
            'o' if has('#') && bits != 0 => "0",
            'd' | 'i' if signed < 0 => "-",
            _ if is_float && float.is_sign_negative() => "-",
            'u' | 'x' | 'X' | 'o' | 'c' | 'p' => "",
            _ if has('+') => "+",
            _ if has(' ') => " ",
            _ => "",
        };
        let least = self.precision.filter(|_| is_integer);
        if let Some(least) = least {
            digits = format!("{digits:0>least$}");
        }
        let zeros = is_integer && least.is_none() || is_float && float.is_finite();
        let text = self.padded(prefix, digits, zeros);
        if "XEFG".contains(directive) { text.to_uppercase() } else { text }
    }

    /// Filled up to the width, with zeros behind the prefix if the flags and the number want that.
    fn padded(&self, prefix: &str, digits: String, zeros: bool) -> String {
        if prefix.is_empty() && self.width == 0 {
            return digits;
        }
        let left = self.width.saturating_sub(prefix.len());
        let text = format!("{prefix}{digits}");
        match self.flags.contains('-') {
            true => format!("{text:<0$}", self.width),
            false if zeros && self.flags.contains('0') => format!("{prefix}{digits:0>left$}"),
            false => format!("{text:>0$}", self.width),
        }
    }
}

fn scientific(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let exponent = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", i32::abs(exponent))
}

/// `%g`: the shorter form, without zeros at the end.
fn general(value: f64, digits: usize) -> String {
    let rounded = scientific(value, digits - 1);
    let exponent = rounded.split_once('e').and_then(|(_, e)| e.parse::<i32>().ok());
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    match exponent {
        Some(exponent) if (-4..digits as i32).contains(&exponent) => {
            let places = (digits as i32 - 1 - exponent) as usize;
            trimmed(&format!("{value:.places$}"))
        }
        _ => match rounded.split_once('e') {
            Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits)),
            None => rounded,
        },
    }
}
