//! Buffers: what they hold at first, and whether they hold what they have to in the end.

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use emulator::{Addresses, Memory};
use half::{bf16, f16};
use record::units;

use crate::check::{Buffer, Element, Fill};

/// Bytes from the start of a buffer to that of the next one on the emulated GPU: no index of 32 bits
/// leads from one to another.
const APART: u64 = 1 << 40;

pub type Shape = BTreeMap<String, u64>;

/// Where buffers can be: in the memory of an emulated GPU, or of a real one.
pub trait Device {
    /// Memory of so many bytes, which messages call by a name.
    fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64>;
    fn write(&mut self, address: u64, from: &[u8]) -> Result<()>;
    fn read(&self, address: u64, into: &mut [u8]) -> Result<()>;
    /// The first address of a range that nothing has written, where that is known.
    fn first_unwritten(&self, address: u64, bytes: u64) -> Result<Option<u64>>;
}

impl Device for Memory {
    fn allocate(&mut self, bytes: u64, name: &str) -> Result<u64> {
        let address = Addresses::FIRST + (1 + self.buffers().count() as u64) * APART;
        self.allocate_at(address, bytes, name)?;
        Ok(address)
    }

    fn write(&mut self, address: u64, from: &[u8]) -> Result<()> {
        Ok(Memory::write(self, address, from)?)
    }

    fn read(&self, address: u64, into: &mut [u8]) -> Result<()> {
        Ok(Memory::read(self, address, into)?)
    }

    fn first_unwritten(&self, address: u64, bytes: u64) -> Result<Option<u64>> {
        Ok(Memory::first_unwritten(self, address, bytes)?)
    }
}

pub struct Buffers<'c> {
    all: BTreeMap<&'c str, Placed<'c>>,
}

/// A buffer, and where it is.
pub struct Placed<'c> {
    pub buffer: &'c Buffer,
    pub address: u64,
    pub sizes: Vec<u64>,
    /// What it held before the first launch; nothing that may be read if this is not there.
    pub filled: Option<Vec<u8>>,
}

impl<'c> Buffers<'c> {
    pub fn make(
        buffers: &'c BTreeMap<String, Buffer>,
        shape: &Shape,
        memory: &mut impl Device,
    ) -> Result<Buffers<'c>> {
        let mut all = BTreeMap::new();
        for (name, buffer) in buffers {
            let sizes = buffer.sizes(name, shape)?;
            let elements: u64 = sizes.iter().product();
            let bytes = elements * buffer.element.bytes() as u64;
            let address = memory.allocate(bytes, &format!("`{name}`"))?;
            let fill = buffer.fill.as_ref();
            let filled = fill.map(|fill| {
                let content = content(name, buffer.element, fill, elements, shape)?;
                memory.write(address, &content)?;
                Ok::<_, anyhow::Error>(content)
            });
            let filled = filled.transpose()?;
            all.insert(name.as_str(), Placed { buffer, address, sizes, filled });
        }
        Ok(Buffers { all })
    }

    /// Bytes that have to move: of what is filled, and of results.
    pub fn moved_bytes(&self) -> [u64; 2] {
        let bytes = |wanted: fn(&Placed) -> bool| {
            let placed = self.all.values().filter(|placed| wanted(placed));
            placed.map(|placed| placed.elements() * placed.element_bytes()).sum()
        };
        [bytes(|placed| placed.filled.is_some()), bytes(|placed| placed.buffer.result)]
    }

    /// Elements of results.
    pub fn checked(&self) -> u64 {
        let results = self.all.values().filter(|placed| placed.buffer.result);
        results.map(Placed::elements).sum()
    }

    /// All, by their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Placed<'c>)> {
        self.all.iter().map(|(name, placed)| (*name, placed))
    }

    pub fn get(&self, name: &str) -> Option<&Placed<'c>> {
        self.all.get(name)
    }

    /// What the emulated GPU says of an address, said of an element: `reads in[1000]: …`.
    pub fn in_elements(&self, what: &str) -> String {
        self.said_of_element(what).unwrap_or_else(|| what.to_owned())
    }

    fn said_of_element(&self, what: &str) -> Option<String> {
        let (before, rest) = what.split_once(" at 0x")?;
        let (digits, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_hexdigit())?);
        let address = u64::from_str_radix(digits, 16).ok()?;
        let is_near = |placed: &Placed| address.abs_diff(placed.address) < APART / 2;
        let (name, placed) = self.iter().find(|(_, placed)| is_near(placed))?;
        let (verb, bytes) = before.rmatch_indices(' ').nth(1).map(|(at, _)| before.split_at(at))?;
        let (offset, width) =
            (address.wrapping_sub(placed.address) as i64, placed.element_bytes() as i64);
        let index = offset.div_euclid(width);
        let element = match usize::try_from(index) {
            Ok(index) => placed.place(name, index),
            Err(_) => format!("{name}[{index}]"),
        };
        let element = match offset.rem_euclid(width) {
            0 if bytes.split_whitespace().next() == Some(width.to_string().as_str()) => element,
            0 => format!("{} at {element}", bytes.trim()),
            byte => format!("{} at byte {byte} of {element}", bytes.trim()),
        };
        // The element says where in the buffer it is, and the buffer how long it is.
        let rest = match rest.split_once(&format!("`{name}`")) {
            Some((place, rest)) if place.starts_with(", ") => rest.to_owned(),
            Some((place, rest)) => {
                let rest = rest.split_once(" at 0x").and_then(|(_, rest)| rest.split_once(')'));
                let rest = rest.map_or("", |(_, rest)| rest);
                let elements = match placed.elements() {
                    1 => "1 element".to_owned(),
                    elements => format!("{} elements", units::count(elements)),
                };
                format!("{place}`{name}` ({elements}){rest}")
            }
            None => rest.to_owned(),
        };
        Some(format!("{verb} {element}{rest}"))
    }

    /// What is not as it was, or not as in `expected`: a sentence, or none if all is well.
    pub fn compare(
        &self,
        memory: &impl Device,
        expected: &Buffers<'_>,
        wanted: &impl Device,
    ) -> Result<Option<String>> {
        for (name, placed) in &self.all {
            let said = match (placed.buffer.result, &placed.filled) {
                _ if placed.buffer.scratch => None,
                (false, None) => None,
                (false, Some(filled)) => placed.changed(name, filled, &placed.read(memory)?),
                (true, _) => {
                    let other = expected.get(name).context("made of the same")?;
                    placed.wrong(name, &placed.read(memory)?, &other.read(wanted)?, memory)?
                }
            };
            if said.is_some() {
                return Ok(said);
            }
        }
        Ok(None)
    }
}

impl Placed<'_> {
    pub fn elements(&self) -> u64 {
        self.sizes.iter().product()
    }

    pub fn element_bytes(&self) -> u64 {
        self.buffer.element.bytes() as u64
    }

    /// What it holds.
    pub fn read(&self, memory: &impl Device) -> Result<Vec<u8>> {
        let mut bytes = vec![0; (self.elements() * self.element_bytes()) as usize];
        memory.read(self.address, &mut bytes)?;
        Ok(bytes)
    }

    /// The elements of which bytes were not written, by their places.
    pub fn unwritten(&self, memory: &impl Device) -> Result<Vec<usize>> {
        let (width, mut unwritten) = (self.element_bytes(), vec![]);
        let (mut at, end) = (self.address, self.address + self.elements() * width);
        while at < end
            && let Some(found) = memory.first_unwritten(at, end - at)?
        {
            let place = (found - self.address) / width;
            unwritten.push(place as usize);
            at = self.address + (place + 1) * width;
        }
        Ok(unwritten)
    }

    fn changed(&self, name: &str, filled: &[u8], found: &[u8]) -> Option<String> {
        let width = self.buffer.element.bytes();
        let mut pairs = filled.chunks(width).zip(found.chunks(width));
        let first = pairs.position(|(was, is)| was != is)?;
        let at = first * width;
        let value = |bytes: &[u8]| number(self.buffer.element, &bytes[at..at + width]);
        let (place, was, is) = (self.place(name, first), value(filled), value(found));
        Some(format!("{place} was {was}, has to be so again in the end, and is {is}"))
    }

    fn wrong(
        &self,
        name: &str,
        found: &[u8],
        wanted: &[u8],
        memory: &impl Device,
    ) -> Result<Option<String>> {
        let element = self.buffer.element;
        if found.is_empty() {
            return Ok(None);
        }
        let unwritten = memory
            .first_unwritten(self.address, found.len() as u64)?
            .map(|address| ((address - self.address) / self.element_bytes()) as usize);
        let pairs = found.chunks(element.bytes()).zip(wanted.chunks(element.bytes()));
        let differ = |a: &[u8], b: &[u8]| {
            let (a, b) = (number(element, a), number(element, b));
            let off = (a - b).abs() / b.abs().max(1.0);
            a != b && (off > self.buffer.tolerance || off.is_nan())
        };
        let wrong: Vec<_> = pairs
            .enumerate()
            .filter(|(place, (a, b))| Some(*place) == unwritten || differ(a, b))
            .collect();
        let Some((place, (a, b))) = wrong.first() else { return Ok(None) };
        let here = self.place(name, *place);
        let wanted = number(element, b);
        let mut said = match unwritten == Some(*place) {
            true => format!("{here} has to be {wanted}, and nothing writes it"),
            false => {
                format!("{here} is {}, and has to be {wanted}", number(element, a))
            }
        };
        if wrong.len() > 1 {
            said += &format!(" ({} of {} are wrong)", wrong.len(), self.elements());
        }
        Ok(Some(said))
    }

    /// An element by its indices: `out[3][0]`. One behind the end has a first index that is too large.
    pub fn place(&self, name: &str, index: usize) -> String {
        place(name, &self.sizes, index)
    }
}

/// The same of a buffer of these sizes.
pub(crate) fn place(name: &str, sizes: &[u64], mut index: usize) -> String {
    let mut indices = vec![];
    for size in sizes.iter().skip(1).rev() {
        let size = (*size).max(1) as usize;
        indices.push(format!("[{}]", index % size));
        index /= size;
    }
    indices.push(format!("[{index}]"));
    indices.reverse();
    format!("{name}{}", indices.concat())
}

/// Bytes of all buffers together, at the sizes of a shape.
pub fn bytes(buffers: &BTreeMap<String, Buffer>, shape: &Shape) -> Result<u64> {
    let mut all = 0;
    for (name, buffer) in buffers {
        all += buffer.sizes(name, shape)?.iter().product::<u64>() * buffer.element.bytes() as u64;
    }
    Ok(all)
}

/// What a buffer that is filled holds at first, without a place to be in.
pub(crate) fn filled(name: &str, buffer: &Buffer, shape: &Shape) -> Result<Vec<u8>> {
    let fill = buffer.fill.as_ref().context("it is filled")?;
    let elements = buffer.sizes(name, shape)?.iter().product();
    content(name, buffer.element, fill, elements, shape)
}

/// What a buffer holds at first. The same name gives the same numbers each time.
fn content(
    name: &str,
    element: Element,
    fill: &Fill,
    elements: u64,
    shape: &Shape,
) -> Result<Vec<u8>> {
    let seed = name
        .bytes()
        .fold(0x9E37_79B9_u64, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut random = Random(seed);
    let is_float = element.is_float();
    let wanted = elements as usize * element.bytes();
    let number: Box<dyn FnMut(u64) -> f64> = match fill {
        Fill::Bytes(bytes) => {
            let count = bytes.len() / element.bytes();
            ensure!(bytes.len() == wanted, "{name} has {elements} elements, and its file {count}");
            return Ok(bytes.clone());
        }
        Fill::Zero => Box::new(|_| 0.0),
        Fill::Number(number) => Box::new(|_| *number),
        Fill::Index => Box::new(|i| i as f64),
        Fill::Random if is_float => Box::new(move |_| random.below(2049) as f64 / 1024.0 - 1.0),
        Fill::Random => Box::new(move |_| random.below(256) as f64),
        Fill::Permutation => {
            let mut order: Vec<_> = (0..elements as u32).collect();
            for i in (1..order.len()).rev() {
                order.swap(i, random.below(i as u64 + 1) as usize);
            }
            Box::new(move |i| f64::from(order[i as usize]))
        }
        Fill::Below(limit) => {
            let limit = limit.count(shape)?.max(1);
            Box::new(move |_| random.below(limit) as f64)
        }
    };
    let mut bytes = Vec::with_capacity(wanted);
    for number in (0..elements).map(number) {
        match element {
            Element::I8 => bytes.push(number as i8 as u8),
            Element::U8 => bytes.push(number as u8),
            Element::I16 => bytes.extend((number as i16).to_le_bytes()),
            Element::U16 => bytes.extend((number as u16).to_le_bytes()),
            Element::I32 => bytes.extend((number as i32).to_le_bytes()),
            Element::U32 => bytes.extend((number as u32).to_le_bytes()),
            Element::I64 => bytes.extend((number as i64).to_le_bytes()),
            Element::U64 => bytes.extend((number as u64).to_le_bytes()),
            Element::F16 => bytes.extend(f16::from_f64(number).to_le_bytes()),
            Element::Bf16 => bytes.extend(bf16::from_f64(number).to_le_bytes()),
            Element::F32 => bytes.extend((number as f32).to_le_bytes()),
            Element::F64 => bytes.extend(number.to_le_bytes()),
        }
    }
    if let Fill::Number(wanted) = fill
        && let Some(first) = bytes.get(..element.bytes())
    {
        let is_there = is_float || self::number(element, first) == *wanted;
        ensure!(is_there, "{name}: its type has no {wanted}");
    }
    Ok(bytes)
}

/// An element's value. (Integers of exercises are well below 2⁵³.)
pub fn number(element: Element, bytes: &[u8]) -> f64 {
    let mut eight = [0; 8];
    eight[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(eight);
    match element {
        Element::U8 | Element::U16 | Element::U32 | Element::U64 => bits as f64,
        Element::I8 => f64::from(bits as u8 as i8),
        Element::I16 => f64::from(bits as u16 as i16),
        Element::I32 => f64::from(bits as u32 as i32),
        Element::I64 => bits as i64 as f64,
        Element::F16 => f16::from_bits(bits as u16).to_f64(),
        Element::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        Element::F32 => f64::from(f32::from_bits(bits as u32)),
        Element::F64 => f64::from_bits(bits),
    }
}

/// The same in as few digits as its type needs.
pub(crate) fn shown(element: Element, bytes: &[u8]) -> String {
    match (element, bytes.try_into()) {
        (Element::F32, Ok(bytes)) => f32::from_le_bytes(bytes).to_string(),
        _ => number(element, bytes).to_string(),
    }
}

/// Numbers that look random, and are the same each time (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % limit
    }
}
