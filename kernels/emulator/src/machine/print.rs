//! What a kernel says: `printf`, and `assert`.

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
            let text = self.formatted(warp, lane, &format, arguments)?;
            self.printed.push(&text);
            if let Some(result) = print.result {
                let count = (format.matches('%').count() as u32).to_le_bytes();
                let (space, to) = (Space::Local, result.into());
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

    /// The text with each directive, such as `%5.2f`, replaced by an argument. Arguments
    /// lie one after the other, each aligned to its size.
    fn formatted(
        &mut self,
        warp: &Warp,
        lane: usize,
        format: &str,
        arguments: u64,
    ) -> Result<String> {
        let mut text = String::new();
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
            let long = lengths.contains(['l', 'z']);
            let wide = long || "feEgGaAps".contains(directive);
            let bytes = if wide { 8 } else { 4 };
            next = u64::next_multiple_of(next, bytes);
            let bits = self.number(warp, lane, next, bytes as usize)?;
            next += bytes;
            let value = match directive {
                's' => self.text(warp, lane, bits)?,
                _ => shown(directive, &after[..options_end], bits, wide),
            };
            text += &padded(&after[..options_end], &value);
        }
        Ok(text + rest)
    }
}

/// A number as a directive wants it.
fn shown(directive: char, options: &str, bits: u64, wide: bool) -> String {
    let precision = options.split_once('.').and_then(|(_, digits)| digits.parse().ok());
    let precision = precision.map(|digits: usize| digits.min(LONGEST_TEXT));
    let signed = if wide { bits as i64 } else { (bits as i32).into() };
    let float = f64::from_bits(bits);
    match directive {
        'd' | 'i' => signed.to_string(),
        'u' => bits.to_string(),
        'x' => format!("{bits:x}"),
        'X' => format!("{bits:X}"),
        'o' => format!("{bits:o}"),
        'p' => format!("{bits:#x}"),
        'c' => char::from(bits as u8).to_string(),
        'f' | 'F' => format!("{float:.*}", precision.unwrap_or(6)),
        'e' | 'E' => scientific(float, precision.unwrap_or(6)),
        'g' | 'G' => general(float, precision.unwrap_or(6).max(1)),
        other => format!("%{other}"),
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

/// Filled up to the width that the options ask for.
fn padded(options: &str, value: &str) -> String {
    let width = options.split('.').next().unwrap_or_default();
    let digits = width.trim_start_matches(['-', '+', ' ', '#', '0']);
    let Ok(width) = digits.parse::<usize>() else { return value.to_owned() };
    let width = width.min(LONGEST_TEXT);
    if options.contains('-') {
        format!("{value:<width$}")
    } else if options.starts_with('0') {
        format!("{value:0>width$}")
    } else {
        format!("{value:>width$}")
    }
}
