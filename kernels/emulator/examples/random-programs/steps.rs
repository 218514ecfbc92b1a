//! What is more than one operation of each thread by itself: branches, loops, memory, and what
//! threads do together.

use std::fmt::Write as _;
use std::iter;

use super::THREADS;
use super::inputs::{INPUTS, inputs_of};
use super::rows::{STEADY, WORDS, bytes};
use super::writer::Writer;

impl Writer {
    /// A conversion between integers, or between an integer and a float, with registers that may
    /// be wider than the numbers.
    pub(crate) fn between(&mut self) {
        let integers = ["u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64"];
        let floats = [("f16", 'x'), ("bf16", 'b'), ("f32", 'f'), ("f64", 'g'), ("f32", 'f')];
        let (float, kind) = floats[self.random.below(5)];
        let how = self.random.below(3);
        // Of `bf16` there is less.
        let is_exact = how > 0 && float == "bf16";
        let first = if is_exact { 2 } else { 0 };
        let size = |kind: &str| kind[1..].parse::<u64>().expect("it is an integer");
        let (one, other) = (self.random.of(&integers[first..]), self.random.of(&integers[first..]));
        let mut wider = |kind: &str| {
            let kinds =
                ['h', 'r', 'd'].into_iter().filter(|letter| bytes(*letter) * 8 >= size(kind));
            let kinds = kinds.collect::<Vec<_>>();
            let any = !is_exact && self.random.one_in(4);
            kinds[if any { self.random.below(kinds.len()) } else { 0 }]
        };
        let (to, from) = (wider(one), wider(other));
        match how {
            0 => {
                let reaches =
                    (one.starts_with('s'), size(one)) >= (other.starts_with('s'), size(other));
                let unsigned =
                    one.starts_with('u') && other.starts_with('s') || size(one) < size(other);
                let saturates = (unsigned || !reaches) && size(one) <= size(other);
                let sat = if saturates { "<|sat.>" } else { "" };
                self.row(&format!("{to} cvt.{sat}{one}.{other} {from}"), None);
            }
            1 => {
                let rounding = if float == "bf16" { "rn" } else { "<rn|rz|rm|rp>" };
                self.row(&format!("{kind} cvt.{rounding}.{float}.{other} {from}"), None);
            }
            _ => {
                let ftz = if float == "f32" { "<|ftz.>" } else { "" };
                self.row(&format!("{to} cvt.<rni|rzi|rmi|rpi>.{ftz}{one}.{float} {kind}"), None);
            }
        }
    }

    /// An operation for some lanes.
    pub(crate) fn guarded(&mut self) {
        let row = STEADY[self.random.below(STEADY.len())];
        let kind = row.chars().next().expect("a kind");
        let (guard, before) = (self.any('p'), self.any(kind));
        let not = self.random.of(&["", "!"]);
        let (text, results, _) = self.operation(row, None);
        self.line(format!("mov.b{} {}, {before}", 8 * bytes(kind), results[0]));
        let text = format!("@{not}{guard} {text}");
        self.line(&text);
        self.keep(&results[0], kind, &text);
    }

    /// Different operations for lanes for which a predicate holds, and for the others.
    pub(crate) fn branches(&mut self) {
        let number = self.number();
        let kind = self.random.of(&["r", "d", "f", "g"]).chars().next().expect("a letter");
        let (guard, result) = (self.any('p'), self.fresh(kind));
        let rows = STEADY.map(|row| (row, row.starts_with(kind)));
        let rows = rows.iter().filter(|(_, fits)| *fits).map(|(row, _)| *row).collect::<Vec<_>>();
        let mut text = format!("if {guard}:");
        self.line(format!("@!{guard} bra otherwise{number}"));
        for arm in 0..2 {
            let row = self.random.of(&rows);
            let (operation, one, _) = self.operation(row, None);
            self.line(&operation);
            let (again, two, _) = self.operation(row, Some(&one[0]));
            self.line(&again);
            self.line(format!("mov.b{} {result}, {}", 8 * bytes(kind), two[0]));
            let _ = write!(text, " {operation}; {again};{}", if arm == 0 { " else" } else { "" });
            if arm == 0 {
                self.line(format!("bra joined{number}"));
                self.label(&format!("otherwise{number}"));
            }
        }
        self.label(&format!("joined{number}"));
        self.keep(&result, kind, &text);
    }

    /// A loop with different numbers of turns.
    pub(crate) fn turns(&mut self) {
        let number = self.number();
        let row = STEADY[self.random.below(STEADY.len())];
        let kind = row.chars().next().expect("a kind");
        let (seed, start, sum) = (self.any('r'), self.any(kind), self.fresh(kind));
        let (left, done) = (self.fresh('r'), self.fresh('p'));
        self.line(format!("and.b32 {left}, {seed}, 7"));
        self.line(format!("mov.b{} {sum}, {start}", 8 * bytes(kind)));
        self.label(&format!("again{number}"));
        self.line(format!("setp.eq.u32 {done}, {left}, 0"));
        self.line(format!("@{done} bra done{number}"));
        let (text, results, _) = self.operation(row, Some(&sum));
        self.line(&text);
        self.line(format!("mov.b{} {sum}, {}", 8 * bytes(kind), results[0]));
        self.line(format!("sub.u32 {left}, {left}, 1"));
        self.line(format!("bra again{number}"));
        self.label(&format!("done{number}"));
        self.keep(&sum, kind, &format!("{seed} & 7 times from {start}: {text}"));
    }

    pub(crate) fn branch_table(&mut self) {
        let number = self.number();
        let (seed, index, result) = (self.any('r'), self.fresh('r'), self.fresh('r'));
        self.line(format!("and.b32 {index}, {seed}, 3"));
        let targets = (0..4).map(|arm| format!("arm{number}_{arm}")).collect::<Vec<_>>();
        self.label(&format!("targets{number}"));
        self.line(format!(".branchtargets {}", targets.join(", ")));
        self.line(format!("brx.idx {index}, targets{number}"));
        let mut text = format!("by {seed} & 3:");
        for target in targets {
            self.label(&target);
            let (operation, results, _) = self.operation(WORDS[self.count % 6 / 2 * 2], None);
            if operation.contains("%d") {
                self.line(format!("mov.u32 {result}, {}", self.count));
            } else {
                self.line(&operation);
                self.line(format!("mov.u32 {result}, {}", results[0]));
            }
            let _ = write!(text, " {operation};");
            self.line(format!("bra joined{number}"));
        }
        self.label(&format!("joined{number}"));
        self.keep(&result, 'r', &text);
    }

    pub(crate) fn shuffle(&mut self) {
        let how = self.random.of(&["up", "down", "bfly", "idx"]);
        let (value, result, found) = (self.any('r'), self.fresh('r'), self.fresh('p'));
        let lane = match self.random.below(2) {
            0 => self.random.below(32).to_string(),
            _ => self.any('r'),
        };
        let width = [32, 16, 8, 4][self.random.below(4)];
        let clamp = (32 - width) << 8 | if how == "up" { 0 } else { 31 };
        let text = format!("shfl.sync.{how}.b32 {result}|{found}, {value}, {lane}, {clamp}, -1");
        self.line(&text);
        self.keep(&result, 'r', &text);
        self.keep(&found, 'p', &text);
    }

    pub(crate) fn vote(&mut self) {
        let (value, asked) = (self.any('r'), self.any('p'));
        let (number, found) = (self.fresh('r'), self.fresh('p'));
        let (text, kinds) = match self.random.below(4) {
            0 => {
                let how = self.random.of(&["all", "any", "uni"]);
                (format!("vote.sync.{how}.pred {found}, {asked}, -1"), "p")
            }
            1 => (format!("vote.sync.ballot.b32 {number}, {asked}, -1"), "r"),
            2 => {
                let few = self.fresh('r');
                self.line(format!("and.b32 {few}, {value}, 3"));
                match self.random.below(3) {
                    0 => (format!("match.all.sync.b32 {number}|{found}, {few}, -1"), "rp"),
                    1 => (format!("match.any.sync.b32 {number}, {few}, -1"), "r"),
                    _ => {
                        let long = self.fresh('d');
                        self.line(format!("cvt.s64.s32 {long}, {few}"));
                        (format!("match.any.sync.b64 {number}, {long}, -1"), "r")
                    }
                }
            }
            _ => {
                let how = self.random.of(&[
                    "add.u32", "add.s32", "min.s32", "min.u32", "max.s32", "max.u32", "and.b32",
                    "or.b32", "xor.b32",
                ]);
                (format!("redux.sync.{how} {number}, {value}, -1"), "r")
            }
        };
        self.line(&text);
        for kind in kinds.chars() {
            let register = if kind == 'p' { &found } else { &number };
            self.keep(&register.clone(), kind, &text);
        }
    }

    /// Lanes for which a predicate holds do something together.
    pub(crate) fn part_of_a_warp(&mut self) {
        let number = self.number();
        let (guard, value, asked) = (self.any('p'), self.any('r'), self.any('p'));
        let (members, sum) = (self.fresh('r'), self.fresh('r'));
        let [shuffled, lowest, same, ballot] = [(); 4].map(|()| self.fresh('r'));
        self.line(format!("vote.sync.ballot.b32 {members}, {guard}, -1"));
        for result in [&sum, &shuffled, &same, &ballot] {
            self.line(format!("mov.u32 {result}, 0"));
        }
        self.line(format!("@!{guard} bra joined{number}"));
        let how = self.random.of(&["add.s32", "min.u32", "max.s32", "xor.b32"]);
        let together = format!("redux.sync.{how} {sum}, {value}, {members}");
        self.line(&together);
        self.line(format!("brev.b32 {lowest}, {members}"));
        self.line(format!("clz.b32 {lowest}, {lowest}"));
        self.line(format!("shfl.sync.idx.b32 {shuffled}, {value}, {lowest}, 31, {members}"));
        self.line(format!("match.any.sync.b32 {same}, {lowest}, {members}"));
        self.line(format!("vote.sync.ballot.b32 {ballot}, {asked}, {members}"));
        self.label(&format!("joined{number}"));
        self.line("bar.warp.sync -1");
        for result in [sum, shuffled, same, ballot] {
            self.keep(&result, 'r', &format!("if {guard}: {together}, {asked}"));
        }
    }

    /// Threads read what others have put into shared memory, in other sizes.
    pub(crate) fn exchange(&mut self) {
        let texts = match self.random.below(4) {
            0 => {
                let parts = [(); 4].map(|()| self.any('r'));
                format!("st.shared.v4.b32 [%slot], {{{}}}", parts.join(", "))
            }
            1 => {
                let parts = [(); 2].map(|()| self.any('d'));
                format!("st.shared.v2.b64 [%slot], {{{}}}", parts.join(", "))
            }
            2 => {
                let place = self.random.below(INPUTS as usize) as u64 * 16 * THREADS / 4;
                let from = inputs_of('r') + place;
                self.line(format!("cp.async.ca.shared.global [%slot], [%wides+{from}], 16"));
                self.line("cp.async.commit_group");
                "cp.async.wait_group 0".to_owned()
            }
            _ => {
                for place in [2, 4, 8] {
                    let (kind, value) = match place {
                        2 => (16, self.any('h')),
                        4 => (32, self.any('r')),
                        _ => (64, self.any('d')),
                    };
                    self.line(format!("st.shared.b{kind} [%slot+{place}], {value}"));
                }
                let (byte, other) = (self.any('r'), self.any('h'));
                self.line(format!("st.shared.u8 [%slot+1], {other}"));
                format!("st.shared.u8 [%slot], {byte}")
            }
        };
        self.line(&texts);
        self.line("bar.sync 0");
        let (seed, slot) = (self.any('r'), self.fresh('r'));
        let base = self.fresh('r');
        self.line(format!("and.b32 {slot}, {seed}, 63"));
        self.line(format!("mov.u32 {base}, tile"));
        self.line(format!("mad.lo.u32 {slot}, {slot}, 16, {base}"));
        let loads = [
            ("r", "u8", 1),
            ("r", "s8", 1),
            ("d", "s8", 1),
            ("h", "s16", 2),
            ("h", "u8", 1),
            ("r", "u16", 2),
            ("d", "s32", 4),
            ("r", "b32", 4),
            ("d", "b64", 8),
            ("d", "u32", 4),
        ];
        for _ in 0..2 {
            let (register, kind, size) = loads[self.random.below(loads.len())];
            let register = register.chars().next().expect("a letter");
            let result = self.fresh(register);
            let offset = self.random.below(16 / size) * size;
            let text = format!("ld.shared.{kind} {result}, [{slot}+{offset}]");
            self.line(&text);
            self.keep(&result, register, &format!("{texts}; {seed}; {text}"));
        }
        if self.random.one_in(2) {
            let results = [(); 4].map(|()| self.fresh('r'));
            let transposed = self.random.of(&["", ".trans"]);
            self.line("bar.warp.sync -1");
            let text = format!(
                "ldmatrix.sync.aligned.m8n8.x4{transposed}.shared.b16 {{{}}}, [%slot]",
                results.join(", ")
            );
            self.line(&text);
            for result in &results[..2] {
                self.keep(result, 'r', &format!("{texts}; {text}"));
            }
        }
        self.line("bar.sync 0");
    }

    /// Sums and the like that all threads make together, whatever their order.
    pub(crate) fn counters(&mut self) {
        let (zeroed, base, place) = (self.fresh('p'), self.fresh('r'), self.fresh('r'));
        let (long, seed) = (self.random.one_in(3), self.any('r'));
        let first = self.any(if long { 'd' } else { 'r' });
        self.line(format!("mov.u32 {base}, counters"));
        self.line(format!("setp.lt.u32 {zeroed}, %thread, 8"));
        self.line(format!("mad.lo.u32 {place}, %thread, 8, {base}"));
        let start = self.random.of(&["0", "-1", "12345"]);
        let zero = self.fresh('d');
        self.line(format!("mov.b64 {zero}, {start}"));
        self.line(format!("@{zeroed} st.shared.b64 [{place}], {zero}"));
        self.line("bar.sync 0");
        self.line(format!("and.b32 {place}, {seed}, 7"));
        self.line(format!("mad.lo.u32 {place}, {place}, 8, {base}"));
        let kinds = match long {
            true => ["add.u64", "min.s64", "max.u64", "xor.b64", "and.b64", "or.b64"],
            false => ["add.u32", "min.s32", "max.u32", "xor.b32", "or.b32", "inc.u32"],
        };
        let how = self.random.of(&kinds);
        let first = if how == "inc.u32" { "1000".to_owned() } else { first };
        let text = format!("red.shared.{how} [{place}], {first}");
        self.line(&text);
        self.line("bar.sync 0");
        let result = self.fresh('d');
        self.line(format!("and.b32 {place}, %thread, 7"));
        self.line(format!("mad.lo.u32 {place}, {place}, 8, {base}"));
        self.line(format!("ld.shared.b64 {result}, [{place}]"));
        self.line("bar.sync 0");
        self.keep(&result, 'd', &format!("{text} by {seed} from {start}"));
    }

    /// An atomic operation that no other thread interferes with.
    pub(crate) fn own_atomic(&mut self) {
        let (name, kind) = *self.random.of(&[
            &("add.u32", 'r'),
            &("min.s32", 'r'),
            &("max.u32", 'r'),
            &("inc.u32", 'r'),
            &("dec.u32", 'r'),
            &("xor.b32", 'r'),
            &("exch.b32", 'r'),
            &("cas.b32", 'r'),
            &("add.u64", 'd'),
            &("max.s64", 'd'),
            &("cas.b64", 'd'),
            &("add.f32", 'f'),
            &("add.f64", 'g'),
            &("add.noftz.f16x2", 'y'),
            &("add.noftz.f16", 'x'),
            &("add.noftz.bf16", 'b'),
            &("add.noftz.bf16x2", 'c'),
        ]);
        let (before, value, third) = (self.any(kind), self.any(kind), self.any(kind));
        let (found, after, size) = (self.fresh(kind), self.fresh(kind), 8 * bytes(kind));
        let space = self.random.of(&["shared", "global"]);
        let place = if space == "shared" { "%slot" } else { "%scratch" };
        self.line(format!("st.{space}.b{size} [{place}], {before}"));
        let third = if name.starts_with("cas") { format!(", {third}") } else { String::new() };
        // Half of the time the operation finds what it expects.
        let value = if third.is_empty() || self.random.one_in(2) { value } else { before.clone() };
        let text = format!("atom.{space}.{name} {found}, [{place}], {value}{third}");
        self.line(&text);
        self.line(format!("ld.{space}.b{size} {after}, [{place}]"));
        self.keep(&found, kind, &format!("{before}; {text}"));
        self.keep(&after, kind, &format!("after {before}; {text}"));
    }

    pub(crate) fn local_array(&mut self) {
        let parts = [(); 4].map(|()| self.any('r'));
        for place in 0..4 {
            self.line(format!("st.local.v4.b32 [own+{}], {{{}}}", 16 * place, parts.join(", ")));
        }
        let [to, from] = [(); 2].map(|()| {
            let (seed, index, address) = (self.any('r'), self.fresh('r'), self.fresh('d'));
            self.line(format!("and.b32 {index}, {seed}, 60"));
            self.line(format!("mov.u64 {address}, own"));
            let wide = self.fresh('d');
            self.line(format!("cvt.u64.u32 {wide}, {index}"));
            self.line(format!("add.u64 {address}, {address}, {wide}"));
            address
        });
        let (value, kind) = (self.any('r'), self.random.of(&["u8", "s8", "s16", "b32"]));
        let result = self.fresh('r');
        self.line(format!("st.local.b32 [{to}], {value}"));
        let text = format!("ld.local.{kind} {result}, [{from}]");
        self.line(&text);
        self.keep(&result, 'r', &format!("{} {value} {to} {text}", parts.join(" ")));
        let result = self.fresh('d');
        self.line(format!("ld.local.b64 {result}, [own+24]"));
        self.keep(&result, 'd', "ld.local.b64 [own+24]");
    }

    /// A load of several inputs at once.
    pub(crate) fn vector(&mut self) {
        let nc = self.random.of(&["", ".nc"]);
        let row = self.random.below(INPUTS as usize / 4) as u64;
        let from = inputs_of('r') + row * 16 * THREADS;
        let kinds = [
            ("v4.b32", "rrrr"),
            ("v2.b64", "dd"),
            ("v2.u64", "dd"),
            ("v4.u16", "hhhh"),
            ("v4.s8", "rrrr"),
            ("v2.s16", "rr"),
            ("v4.u8", "hhhh"),
            ("v2.s32", "dd"),
        ];
        let (name, kinds) = kinds[self.random.below(kinds.len())];
        let results = kinds.chars().map(|kind| self.fresh(kind)).collect::<Vec<_>>();
        let text = format!("ld.global{nc}.{name} {{{}}}, [%wides+{from}]", results.join(", "));
        self.line(&text);
        for (result, kind) in iter::zip(&results, kinds.chars()).skip(1) {
            self.keep(result, kind, &text);
        }
    }

    /// Numbers of several words.
    pub(crate) fn carry(&mut self) {
        let (kind, size) = if self.random.one_in(3) { ('d', 64) } else { ('r', 32) };
        let sign = self.random.of(&["u", "s"]);
        let operands = [(); 9].map(|()| self.any(kind));
        let [a, b, c, d, e, f, g, h, i] = operands;
        let results = [(); 3].map(|()| self.fresh(kind));
        let [low, middle, high] = &results;
        let lines = match self.random.below(3) {
            0 => [
                format!("add.cc.{sign}{size} {low}, {a}, {b}"),
                format!("addc.cc.{sign}{size} {middle}, {c}, {d}"),
                format!("addc.{sign}{size} {high}, {e}, {f}"),
            ],
            1 => [
                format!("sub.cc.{sign}{size} {low}, {a}, {b}"),
                format!("subc.cc.{sign}{size} {middle}, {c}, {d}"),
                format!("subc.{sign}{size} {high}, {e}, {f}"),
            ],
            _ => [
                format!("mad.lo.cc.{sign}{size} {low}, {a}, {b}, {c}"),
                format!("madc.hi.cc.{sign}{size} {middle}, {d}, {e}, {f}"),
                format!("madc.lo.{sign}{size} {high}, {g}, {h}, {i}"),
            ],
        };
        let text = lines.join("; ");
        lines.iter().for_each(|line| self.line(line));
        for result in &results {
            self.keep(result, kind, &text);
        }
    }

    /// Registers that are put together and taken apart.
    pub(crate) fn parts(&mut self) {
        let long = self.fresh('d');
        let (one, other) = (self.any('r'), self.any('r'));
        let text = format!("mov.b64 {long}, {{{one}, {other}}}");
        self.line(&text);
        self.keep(&long, 'd', &text);
        let halves = [(); 4].map(|()| self.fresh('h'));
        let value = self.any('d');
        let text = format!("mov.b64 {{{}}}, {value}", halves.join(", "));
        self.line(&text);
        self.keep(&halves[1], 'h', &text);
        let joined = self.fresh('r');
        let text = format!("mov.b32 {joined}, {{{}, {}}}", halves[3], halves[0]);
        self.line(&text);
        self.keep(&joined, 'r', &text);
    }

    pub(crate) fn call(&mut self) {
        let number = self.number();
        let (value, long) = (self.any('r'), self.any('d'));
        let (kind, text) = match self.random.below(2) {
            0 => {
                self.line(format!(".param .b32 in{number}"));
                self.line(format!(".param .b32 out{number}"));
                self.line(format!("st.param.b32 [in{number}], {value}"));
                ('r', format!("call.uni (out{number}), collatz, (in{number})"))
            }
            _ => {
                self.line(format!(".param .b64 in{number}"));
                self.line(format!(".param .b32 also{number}"));
                self.line(format!(".param .b64 out{number}"));
                self.line(format!("st.param.b64 [in{number}], {long}"));
                self.line(format!("st.param.b32 [also{number}], {value}"));
                ('d', format!("call (out{number}), mixed, (in{number}, also{number})"))
            }
        };
        let result = self.fresh(kind);
        self.line(&text);
        self.line(format!("ld.param.b{} {result}, [out{number}]", 8 * bytes(kind)));
        self.keep(&result, kind, &format!("{text} {value} {long}"));
    }

    /// A product of matrices of integers.
    pub(crate) fn matrices(&mut self) {
        let (shape, counts) = *self.random.of(&[
            &("m8n8k16", [2, 1, 1, 2]),
            &("m16n8k16", [4, 2, 1, 4]),
            &("m16n8k32", [4, 4, 2, 4]),
        ]);
        let results = (0..counts[0]).map(|_| self.fresh('r')).collect::<Vec<_>>();
        let mut operands = Vec::new();
        for count in &counts[1..] {
            let parts = (0..*count).map(|_| self.any('r')).collect::<Vec<_>>();
            operands.push(format!("{{{}}}", parts.join(", ")));
        }
        let name = self.chosen(&format!(
            "mma.sync.aligned.{shape}.row.col<|.satfinite>.s32.<u8|s8>.<u8|s8>.s32"
        ));
        let text = format!("{name} {{{}}}, {}", results.join(", "), operands.join(", "));
        self.line("bar.warp.sync -1");
        self.line(&text);
        for result in &results[..2] {
            self.keep(result, 'r', &text);
        }
    }

    pub(crate) fn constants(&mut self) {
        let (seed, index) = (self.any('r'), self.fresh('r'));
        let (base, wide, result) = (self.fresh('d'), self.fresh('d'), self.fresh('r'));
        self.line(format!("and.b32 {index}, {seed}, 15"));
        self.line(format!("mul.wide.u32 {wide}, {index}, 4"));
        self.line(format!("mov.u64 {base}, table"));
        self.line(format!("add.u64 {base}, {base}, {wide}"));
        let text = format!("ld.const.u32 {result}, [{base}]");
        self.line(&text);
        self.keep(&result, 'r', &format!("{seed}; {text}"));
    }

    pub(crate) fn barrier_reduction(&mut self) {
        let (asked, number, found) = (self.any('p'), self.fresh('r'), self.fresh('p'));
        let (register, kind, text) = match self.random.below(3) {
            0 => (&number, 'r', format!("bar.red.popc.u32 {number}, 0, {asked}")),
            1 => (&found, 'p', format!("bar.red.and.pred {found}, 0, {asked}")),
            _ => (&found, 'p', format!("bar.red.or.pred {found}, 0, !{asked}")),
        };
        self.line(&text);
        self.keep(register, kind, &text);
    }
}
