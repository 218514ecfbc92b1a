//! Instructions of tensor cores, and those that load and store what they multiply.

use crate::decode::{Decoder, Result};
use crate::matrix::{Element, Fragment, Side};
use crate::program::{
    Access, Address, LoadMatrices, Matrix, Multiply, Op, Preset, Scope, Shuffle, ShuffleKind,
    Special, Strength,
};
use crate::registers::{Class, Role, Slot, operation};
use crate::space::Space;
use crate::syntax::Operand;
use crate::table::{self, Form};

/// Spaces of matrices, which need not be named.
const SPACES: [(&str, Space); 3] =
    [("global", Space::Global), ("shared", Space::Shared), ("shared::cta", Space::Shared)];

impl Decoder<'_> {
    /// All lanes must execute an instruction together.
    fn aligned(&mut self, form: &mut Form<'_>, name: &str) -> Result<()> {
        if !form.take("sync") || !form.take("aligned") {
            return Err(self.unsupported(name));
        }
        let parts = name.split('.').take_while(|part| *part != "sync");
        let short = parts.collect::<Vec<_>>().join(".");
        self.emit(Op::Aligned(short.into()))
    }

    fn space(form: &mut Form<'_>) -> Space {
        let named = SPACES.into_iter().find(|(name, _)| form.take(name));
        named.map_or(Space::Generic, |(_, space)| space)
    }

    /// `ldmatrix`
    pub(super) fn load_matrices(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        self.aligned(&mut form, name)?;
        let transposed = form.take("trans");
        let space = Self::space(&mut form);
        let count = match form.take_one_of(&["x1", "x2", "x4"]) {
            Some("x1") => 1,
            Some("x2") => 2,
            Some(_) => 4,
            None => return Err(self.unsupported(name)),
        };
        let fits = form.take("m8n8") && form.only_type() == Some("b16");
        if !fits || !form.modifiers.is_empty() {
            return Err(self.unsupported(name));
        }
        let [results, address] = self.exactly(name, operands)?;
        let results = self.registers_of(name, results, Class::Narrow, true)?;
        if results.len() != count {
            return Err(self.wrong_operands(name));
        }
        let address = self.address(address, space)?;
        self.note_width(Space::Shared, 16);
        let load = LoadMatrices { address, transposed, results: results.into() };
        self.emit(Op::LoadMatrices(Box::new(load)))
    }

    /// `movmatrix`: the two elements that a lane gets are in two lanes, four apart.
    pub(super) fn transpose_matrix(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        self.aligned(&mut form, name)?;
        let fits = form.take("m8n8") && form.take("trans") && form.only_type() == Some("b16");
        if !fits || !form.modifiers.is_empty() {
            return Err(self.unsupported(name));
        }
        let [result, value] = self.exactly(name, operands)?;
        let (result, value) = (self.result(result, Class::Narrow)?, self.narrow(value)?);
        let lane = self.constant(Class::Narrow, Preset::Special(Special::Lane))?;
        let clamp = self.constant(Class::Narrow, Preset::Bits(31))?;
        let members = self.constant(Class::Narrow, Preset::Bits(u32::MAX.into()))?;
        let sources = [
            operation!(|lane: u32| -> u32 { lane % 4 * 8 + lane / 8 }),
            operation!(|lane: u32| -> u32 { lane % 4 * 8 + lane / 8 + 4 }),
        ];
        let mut moved = [value; 2];
        for (source, moved) in sources.into_iter().zip(&mut moved) {
            let from = self.new_register(Class::Narrow)?;
            self.apply(source, from, &[lane])?;
            *moved = self.new_register(Class::Narrow)?;
            let (kind, result) = (ShuffleKind::Index, Some(*moved));
            let shuffle =
                Shuffle { kind, result, in_range: None, value, lane: from, clamp, members };
            self.emit(Op::Shuffle(Box::new(shuffle)))?;
        }
        let joined = operation!(|low: u32, high: u32, lane: u32| -> u32 {
            let shift = lane / 4 % 2 * 16;
            low >> shift & 0xffff | high >> shift << 16
        });
        self.apply(joined.with(Role::Bits), result, &[moved[0], moved[1], lane])
    }

    fn registers_of(
        &mut self,
        name: &str,
        operand: &Operand,
        class: Class,
        results: bool,
    ) -> Result<Vec<Slot>> {
        let parts = match operand {
            Operand::Vector(parts) => &parts[..],
            Operand::Name(_) => std::slice::from_ref(operand),
            _ => return Err(self.wrong_operands(name)),
        };
        let slots = parts.iter().map(|part| match results {
            true => self.result(part, class),
            false => self.source(part, class),
        });
        slots.collect()
    }

    /// The matrix that an operand is. `wmma` may give it more registers than it needs: then
    /// they hold it several times.
    fn matrix(
        &mut self,
        name: &str,
        operand: &Operand,
        fragment: Option<Fragment>,
        results: bool,
    ) -> Result<Matrix> {
        let fragment = fragment.ok_or_else(|| self.unsupported(name))?;
        let class = class_of(fragment.element);
        let registers = self.registers_of(name, operand, class, results)?;
        if !registers.len().is_multiple_of(fragment.registers()) {
            return Err(self.wrong_operands(name));
        }
        Ok(Matrix { fragment, registers: registers.into() })
    }

    /// `mma`, and `wmma.mma`
    pub(super) fn multiply(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        self.aligned(&mut form, name)?;
        let is_wmma = form.base == "wmma" && form.take("mma");
        let saturates = form.take("satfinite");
        form.take("rn");
        // Of `wmma` the layouts say how the matrices were loaded.
        let layouts = ["row", "col"].map(|layout| form.take(layout));
        while is_wmma && form.take_one_of(&["row", "col"]).is_some() {}
        let shape = self.shape(&mut form, name)?;
        let types = match form.types[..] {
            [d, c] => [d, "f16", "f16", c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err(self.unsupported(name)),
        };
        let elements = types.map(Element::named);
        let [Some(d), Some(a), Some(b), Some(c)] = elements else {
            return Err(self.unsupported(name));
        };
        // Another layout: that of the first tensor cores.
        let is_first = shape == [8, 8, 4] && a == Element::F16;
        let fits = form.modifiers.is_empty()
            && (is_wmma || layouts == [true, true])
            && are_summed_in(a, b, c)
            && are_summed_in(a, b, d);
        if !fits || is_first {
            return Err(self.unsupported(name));
        }
        let of = |side, element| Fragment::new(side, element, shape);
        let [to, first, second, sum] = self.exactly(name, operands)?;
        let multiply = Multiply {
            shape,
            a: self.matrix(name, first, of(Side::A, a), false)?,
            b: self.matrix(name, second, of(Side::B, b), false)?,
            c: self.matrix(name, sum, of(Side::Sum, c), false)?,
            d: self.matrix(name, to, of(Side::Sum, d), true)?,
            saturates,
        };
        self.emit(Op::Multiply(Box::new(multiply)))
    }

    /// `m16n8k16`
    fn shape(&self, form: &mut Form<'_>, name: &str) -> Result<[usize; 3]> {
        let shapes = form.modifiers.iter().filter_map(|part| {
            let (m, rest) = part.strip_prefix('m')?.split_once('n')?;
            let (n, k) = rest.split_once('k')?;
            Some((*part, [m.parse().ok()?, n.parse().ok()?, k.parse().ok()?]))
        });
        let found = shapes.collect::<Vec<_>>();
        let [(part, shape)] = found[..] else {
            return Err(self.unsupported(name));
        };
        form.take(part);
        Ok(shape)
    }

    /// `wmma`
    pub(super) fn fragment(&mut self, name: &str, operands: &[Operand]) -> Result<()> {
        let mut form = Form::new(name);
        let loads = match form.take_one_of(&["mma", "load", "store"]) {
            Some("mma") => return self.multiply(name, operands),
            Some(what) => what == "load",
            None => return Err(self.unsupported(name)),
        };
        self.aligned(&mut form, name)?;
        let side = match form.take_one_of(&["a", "b", "c", "d"]) {
            Some("a") if loads => Side::A,
            Some("b") if loads => Side::B,
            Some("c") if loads => Side::Sum,
            Some("d") if !loads => Side::Sum,
            _ => return Err(self.unsupported(name)),
        };
        let is_column = form.take("col");
        let shape = self.shape(&mut form, name)?;
        let space = Self::space(&mut form);
        let element = form.only_type().and_then(Element::named);
        let has_layout = is_column || form.take("row");
        let (Some(element), true, true) = (element, has_layout, form.modifiers.is_empty()) else {
            return Err(self.unsupported(name));
        };
        let (registers, address, stride) = match (loads, operands) {
            (true, [registers, address, stride @ ..]) => (registers, address, stride),
            (false, [address, registers, stride @ ..]) => (registers, address, stride),
            _ => return Err(self.wrong_operands(name)),
        };
        let [stride] = stride else {
            return Err(self.unsupported(&format!("{name} without a stride")));
        };
        let fragment = Fragment::new(side, element, shape);
        let matrix = self.matrix(name, registers, fragment, loads)?;
        let address = self.address(address, space)?;
        let stride = self.narrow(stride)?;
        // Do the elements of a lane's run follow each other in memory?
        let has_runs = is_column == (side == Side::B);
        let places = Places { loads, address, stride, has_runs };
        self.move_fragment(&matrix, &places)
    }

    /// Loads or stores a fragment, register after register.
    fn move_fragment(&mut self, matrix: &Matrix, places: &Places) -> Result<()> {
        let Matrix { fragment, registers } = matrix;
        let bytes = fragment.element.bytes();
        let each = fragment.element.in_register();
        let needed = fragment.registers();
        let lane = self.lane_address(fragment, places)?;
        for (number, &register) in registers.iter().take(needed).enumerate() {
            let first = number * each;
            if places.has_runs || each == 1 {
                let address = self.element_address(fragment, places, lane, first)?;
                self.move_part(places, address, bytes * each, register)?;
                continue;
            }
            let mut whole = None;
            for part in 0..each {
                let address = self.element_address(fragment, places, lane, first + part)?;
                let shift = Preset::Bits((8 * bytes * part) as u64);
                let shift = self.constant(Class::Narrow, shift)?;
                let moved = self.new_register(Class::Narrow)?;
                if !places.loads {
                    let taken = operation!(|a: u32, shift: u32| -> u32 { a >> shift });
                    self.apply(taken, moved, &[register, shift])?;
                    self.move_part(places, address, bytes, moved)?;
                    continue;
                }
                self.move_part(places, address, bytes, moved)?;
                whole = Some(match whole {
                    None => moved,
                    Some(before) => {
                        let result = match part + 1 == each {
                            true => register,
                            false => self.new_register(Class::Narrow)?,
                        };
                        let joined =
                            operation!(|a: u32, b: u32, shift: u32| -> u32 { a | b << shift });
                        self.apply(joined, result, &[before, moved, shift])?;
                        result
                    }
                });
            }
        }
        if places.loads {
            for (number, &register) in registers.iter().enumerate().skip(needed) {
                let copy = table::copy(register.class);
                self.apply(copy, register, &[registers[number % needed]])?;
            }
        }
        Ok(())
    }

    /// One access of each lane.
    fn move_part(
        &mut self,
        places: &Places,
        address: Address,
        bytes: usize,
        register: Slot,
    ) -> Result<()> {
        self.note_width(address.space, bytes);
        let access = Box::new(Access {
            address,
            bytes,
            signed: false,
            strength: Strength::Weak,
            scope: Scope::Grid,
            read_only: false,
            unused: 0,
            acquires: false,
            releases: false,
            registers: [Some(register)].into(),
        });
        self.emit(match places.loads {
            true => Op::Load(access),
            false => Op::Store(access),
        })
    }

    /// The address of the first element of each lane.
    fn lane_address(&mut self, fragment: &Fragment, places: &Places) -> Result<Slot> {
        let lane = self.constant(Class::Narrow, Preset::Special(Special::Lane))?;
        let in_line = self.new_register(Class::Narrow)?;
        let across = self.new_register(Class::Narrow)?;
        let group = operation!(|lane: u32| -> u32 { lane / 4 });
        let within = operation!(|lane: u32, run: u32| -> u32 { lane % 4 * run });
        let (_, run) = fragment.lane(1);
        let run = self.constant(Class::Narrow, Preset::Bits(run as u64))?;
        let (line, other) = match places.has_runs {
            true => (across, in_line),
            false => (in_line, across),
        };
        self.apply(group, across, &[lane])?;
        self.apply(within, in_line, &[lane, run])?;
        let base = places.address.base;
        let bytes = Preset::Bits(fragment.element.bytes() as u64);
        let bytes = self.constant(Class::Narrow, bytes)?;
        let start = self.lines_further(base, line, places.stride, bytes)?;
        let one = self.constant(Class::Narrow, Preset::Bits(1))?;
        self.lines_further(start, other, one, bytes)
    }

    /// `base + lines · stride · bytes`
    fn lines_further(
        &mut self,
        base: Slot,
        lines: Slot,
        stride: Slot,
        bytes: Slot,
    ) -> Result<Slot> {
        let elements = self.new_register(Class::Narrow)?;
        let product = operation!(|a: u32, b: u32| -> u32 { a.wrapping_mul(b) });
        self.apply(product, elements, &[lines, stride])?;
        let result = self.new_register(base.class)?;
        let sum = match base.class {
            Class::Wide => operation!(|a: u64, b: u32, c: u32| -> u64 {
                a.wrapping_add(u64::from(b) * u64::from(c))
            }),
            _ => operation!(|a: u32, b: u32, c: u32| -> u32 { a.wrapping_add(b.wrapping_mul(c)) }),
        };
        self.apply(sum, result, &[base, elements, bytes])?;
        Ok(result)
    }

    /// The address of the element with this number, where `lane` is that of the first.
    fn element_address(
        &mut self,
        fragment: &Fragment,
        places: &Places,
        lane: Slot,
        element: usize,
    ) -> Result<Address> {
        let (across, along) = fragment.start(element);
        let (lines, further) = match places.has_runs {
            true => (across, along),
            false => (along, across),
        };
        let bytes = fragment.element.bytes();
        let mut base = lane;
        if lines > 0 {
            let lines = self.constant(Class::Narrow, Preset::Bits(lines as u64))?;
            let bytes = self.constant(Class::Narrow, Preset::Bits(bytes as u64))?;
            base = self.lines_further(lane, lines, places.stride, bytes)?;
        }
        let offset = places.address.offset + (further * bytes) as i64;
        Ok(Address { base, offset, ..places.address })
    }
}

/// Where a matrix lies in memory.
struct Places {
    loads: bool,
    address: Address,
    /// Elements from one line to the next.
    stride: Slot,
    /// Whether what a lane has beside each other lies so in memory, too.
    has_runs: bool,
}

fn class_of(element: Element) -> Class {
    match element {
        Element::F64 => Class::Wide,
        _ => Class::Narrow,
    }
}

/// Are products of such elements summed up in those?
fn are_summed_in(a: Element, b: Element, sum: Element) -> bool {
    use Element::{Bf16, E4m3, E5m2, F16, F32, F64, S8, S32, Tf32, U8};
    match (a, b) {
        (F16, F16) | (E4m3 | E5m2, E4m3 | E5m2) => matches!(sum, F16 | F32),
        (Bf16, Bf16) | (Tf32, Tf32) => sum == F32,
        (S8 | U8, S8 | U8) => sum == S32,
        (F64, F64) => sum == F64,
        _ => false,
    }
}
