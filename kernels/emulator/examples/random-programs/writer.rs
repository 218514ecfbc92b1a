//! Writes a program, value after value.

use std::fmt::Write as _;

use super::inputs::{INPUTS, Random, float, input, inputs_of};
use super::rows::{KINDS, ROWS, bytes, class};
use super::{Program, THREADS, Value};

/// Values that a program makes at least.
const VALUES: usize = 63;

pub(crate) fn program(number: u64) -> Program {
    let mut writer = Writer {
        random: Random(number.wrapping_mul(0x5851_f42d_4c95_7f2d)),
        body: String::new(),
        count: 0,
        known: Vec::new(),
        values: Vec::new(),
        loaded: Vec::new(),
    };
    for kind in &KINDS[..9] {
        for _ in 0..if matches!(kind, 'r' | 'd' | 'f' | 'g') { 3 } else { 2 } {
            writer.load_input(*kind);
        }
    }
    writer.row("p setp.lt.s32 r r", None);
    writer.row("p setp.gt.f32 f f", None);
    while writer.values.len() < VALUES {
        writer.step();
    }
    writer.finish(number)
}

pub(crate) struct Writer {
    pub(crate) random: Random,
    pub(crate) body: String,
    /// Registers and labels so far.
    pub(crate) count: usize,
    /// Values to go on with: the register, and the kind.
    pub(crate) known: Vec<(String, char)>,
    pub(crate) values: Vec<Value>,
    pub(crate) loaded: Vec<(String, char, u64)>,
}

impl Writer {
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.body, "    {};", text.as_ref());
    }

    pub(crate) fn label(&mut self, name: &str) {
        let _ = writeln!(self.body, "{name}:");
    }

    pub(crate) fn number(&mut self) -> usize {
        self.count += 1;
        self.count
    }

    pub(crate) fn fresh(&mut self, kind: char) -> String {
        format!("%{}{}", class(kind), self.number())
    }

    /// A value that is stored at the end.
    pub(crate) fn store(&mut self, register: &str, kind: char, text: &str, is_open: bool) {
        let (register, text) = (register.to_owned(), text.to_owned());
        self.values.push(Value { register, kind, text, is_open, place: 0, bytes: bytes(kind) });
    }

    /// A value to go on with. What may be no number is also stored as it is, and then gets the
    /// bits that PTX calls canonical.
    pub(crate) fn keep(&mut self, register: &str, kind: char, text: &str) {
        let mut register = register.to_owned();
        if !matches!(kind, 'h' | 'r' | 'd' | 'p') {
            self.store(&register, kind, text, true);
            register = self.canonical(&register, kind);
        }
        self.store(&register, kind, text, false);
        self.known.push((register, if kind == 't' { 'f' } else { kind }));
    }

    pub(crate) fn canonical(&mut self, from: &str, kind: char) -> String {
        let to = self.fresh(kind);
        let half = match kind {
            't' => {
                self.line(format!("and.b32 {to}, {from}, 0xffffe000"));
                return self.canonical(&to, 'f');
            }
            'y' => 'x',
            'c' => 'b',
            _ => {
                let nan = self.fresh('p');
                let (name, size, bits) = match kind {
                    'x' => ("f16", 16, "0x7fff"),
                    'b' => ("bf16", 16, "0x7fff"),
                    'f' => ("f32", 32, "0x7fffffff"),
                    _ => ("f64", 64, "0x7fffffffffffffff"),
                };
                self.line(format!("setp.nan.{name} {nan}, {from}, {from}"));
                self.line(format!("selp.b{size} {to}, {bits}, {from}, {nan}"));
                return to;
            }
        };
        let (low, high) = (self.fresh('h'), self.fresh('h'));
        self.line(format!("mov.b32 {{{low}, {high}}}, {from}"));
        let (low, high) = (self.canonical(&low, half), self.canonical(&high, half));
        self.line(format!("mov.b32 {to}, {{{low}, {high}}}"));
        to
    }

    /// A value of this kind; now and then any that has as many bits.
    pub(crate) fn any(&mut self, kind: char) -> String {
        let strictly = !self.random.one_in(8);
        let fits = |other: char| if strictly { other == kind } else { class(other) == class(kind) };
        let places = self.known.iter().enumerate().filter(|(_, (_, other))| fits(*other));
        let places = places.map(|(place, _)| place).collect::<Vec<_>>();
        // The later, the likelier.
        let first = self.random.below(places.len());
        let place = self.random.below(places.len()).max(first);
        self.known[places[place]].0.clone()
    }

    pub(crate) fn operand(&mut self, letter: char) -> String {
        let constant = self.random.one_in(4);
        match letter {
            'H' | 'R' | 'D' if constant => {
                let bits = input(&mut self.random, letter.to_ascii_lowercase());
                match letter {
                    'H' => (bits as i16 & 0x7fff).to_string(),
                    'R' => (bits as i32).to_string(),
                    _ => (bits as i64).max(-i64::MAX).to_string(),
                }
            }
            'F' if constant => format!("0f{:08x}", float(&mut self.random, 8, 23)),
            'G' if constant => format!("0d{:016x}", float(&mut self.random, 11, 52)),
            'S' if !constant => self.random.below(72).to_string(),
            'S' => self.any('r'),
            'L' => self.random.below(32).to_string(),
            'I' => self.random.below(256).to_string(),
            'Z' => {
                let names = ["tid.x", "laneid", "ntid.x", "lanemask_lt", "lanemask_ge", "ctaid.y"];
                format!("%{}", self.random.of(&names))
            }
            'N' | 'M' | 'O' => {
                let (kind, size) = match letter {
                    'N' => ('h', 16),
                    'M' => ('r', 32),
                    _ => ('d', 64),
                };
                let (value, odd) = (self.any(kind), self.fresh(kind));
                self.line(format!("or.b{size} {odd}, {value}, 1"));
                odd
            }
            _ => self.any(letter.to_ascii_lowercase()),
        }
    }

    /// Chooses among `<a|b>`, the innermost first.
    pub(crate) fn chosen(&mut self, row: &str) -> String {
        let mut text = row.to_owned();
        while let Some(end) = text.find('>') {
            let start = text[..end].rfind('<').expect("it is opened");
            let choices = text[start + 1..end].split('|').collect::<Vec<_>>();
            let choice = self.random.of(&choices).to_owned();
            text.replace_range(start..=end, &choice);
        }
        text
    }

    /// An operation without its guard, and what its result is: `first`, if it is given, is the
    /// first operand.
    pub(crate) fn operation(
        &mut self,
        row: &str,
        first: Option<&str>,
    ) -> (String, Vec<String>, char) {
        let row = self.chosen(row);
        let mut words = row.split(' ');
        let kind = words.next().and_then(|word| word.chars().next()).expect("a kind");
        let name = words.next().expect("a name");
        let mut operands = Vec::new();
        for (place, letter) in words.enumerate() {
            let letter = letter.chars().next().expect("a letter");
            operands.push(match first {
                Some(first) if place == 0 => first.to_owned(),
                _ => self.operand(letter),
            });
        }
        let (kind, results) = match kind {
            'q' => ('p', vec![self.fresh('p'), self.fresh('p')]),
            kind => (kind, vec![self.fresh(kind)]),
        };
        let text = format!("{name} {}, {}", results.join("|"), operands.join(", "));
        (text, results, kind)
    }

    pub(crate) fn row(&mut self, row: &str, first: Option<&str>) {
        let (text, results, kind) = self.operation(row, first);
        self.line(&text);
        for result in results {
            self.keep(&result, kind, &text);
        }
    }

    pub(crate) fn load_input(&mut self, kind: char) {
        let row = self.random.below(INPUTS as usize) as u64;
        let place = inputs_of(kind) + row * THREADS * bytes(kind);
        let result = self.fresh(kind);
        let address = match bytes(kind) {
            2 => "%halves",
            4 => "%words",
            _ => "%longs",
        };
        let text = format!("ld.global.b{} {result}, [{address}+{place}]", 8 * bytes(kind));
        self.line(&text);
        let register = match kind {
            'h' | 'r' | 'd' => result,
            _ => self.canonical(&result, kind),
        };
        self.loaded.push((register.clone(), kind, place));
        self.known.push((register, kind));
    }

    pub(crate) fn any_row(&mut self) -> &'static str {
        let total = ROWS.iter().map(|(weight, _)| weight).sum();
        let mut left = self.random.below(total);
        for (weight, rows) in ROWS {
            match left.checked_sub(weight) {
                Some(less) => left = less,
                None => return rows[self.random.below(rows.len())],
            }
        }
        unreachable!("the weights add up")
    }

    pub(crate) fn step(&mut self) {
        match self.random.below(60) {
            0..35 => {
                let row = self.any_row();
                self.row(row, None);
            }
            35..42 => self.between(),
            42 => self.guarded(),
            43 => self.branches(),
            44 => self.turns(),
            45 => self.branch_table(),
            46 => self.shuffle(),
            47 => self.vote(),
            48 => self.part_of_a_warp(),
            49 => self.exchange(),
            50 => self.counters(),
            51 => self.own_atomic(),
            52 => self.local_array(),
            53 => self.vector(),
            54 => self.carry(),
            55 => self.parts(),
            56 => self.call(),
            57 => self.matrices(),
            58 => self.constants(),
            _ => self.barrier_reduction(),
        }
    }

    /// The whole kernel, which stores every value.
    fn finish(mut self, number: u64) -> Program {
        let body = std::mem::take(&mut self.body);
        let mut values = std::mem::take(&mut self.values);
        values.sort_by_key(|value| value.is_open);
        let (mut scratch, mut compared) = (0, 0);
        for value in &mut values {
            value.place = scratch;
            scratch += value.bytes * THREADS;
            if !value.is_open {
                compared = scratch;
            }
            let Value { register, kind, place, .. } = value;
            if *kind == 'p' {
                let bit = self.fresh('r');
                self.line(format!("selp.u32 {bit}, 1, 0, {register}"));
                self.line(format!("st.global.u8 [%bytes+{place}], {bit}"));
            } else {
                let (name, size) = match bytes(*kind) {
                    2 => ("halves", 16),
                    4 => ("words", 32),
                    _ => ("longs", 64),
                };
                self.line(format!("st.global.b{size} [%{name}+{place}], {register}"));
            }
        }
        let registers = self.count + 1;
        let ptx = format!(
            ".visible .entry program_{number}(.param .u64 inputs, .param .u64 output)
{{
    .reg .pred %p<{registers}>;
    .reg .b16 %h<{registers}>;
    .reg .b32 %r<{registers}>, %thread, %slot;
    .reg .b64 %d<{registers}>, %in, %out, %halves, %words, %longs, %wides, %bytes, %scratch;
    .shared .align 16 .b8 tile[1024];
    .shared .align 8 .b8 counters[64];
    .local .align 16 .b8 own[64];
    mov.u32 %thread, %tid.x;
    mov.u32 %slot, tile;
    mad.lo.u32 %slot, %thread, 16, %slot;
    ld.param.u64 %in, [inputs];
    ld.param.u64 %out, [output];
    mad.wide.u32 %halves, %thread, 2, %in;
    mad.wide.u32 %words, %thread, 4, %in;
    mad.wide.u32 %longs, %thread, 8, %in;
    mad.wide.u32 %wides, %thread, 16, %in;
    mad.wide.u32 %scratch, %thread, 8, %out;
    add.u64 %scratch, %scratch, {scratch};
{body}    mad.wide.u32 %bytes, %thread, 1, %out;
    mad.wide.u32 %halves, %thread, 2, %out;
    mad.wide.u32 %words, %thread, 4, %out;
    mad.wide.u32 %longs, %thread, 8, %out;
{}    ret;
}}
",
            self.body
        );
        Program { ptx, bytes: scratch, compared, values, loaded: self.loaded }
    }
}
