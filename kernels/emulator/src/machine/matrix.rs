//! Products of matrices, and loads of matrices from shared memory.

use crate::WARP;
use crate::access::{Places, wavefronts_of};
use crate::counts::Wavefronts;
use crate::fault::FaultKind;
use crate::machine::access::Part;
use crate::machine::lane::Direction;
use crate::machine::warp::Warp;
use crate::machine::{Machine, Result, list};
use crate::matrix::{Element, MOST_ELEMENTS};
use crate::program::{LoadMatrices, Matrix, Multiply};
use crate::registers::Registers;
use crate::space::Space;

/// Rows of a matrix that `ldmatrix` loads, and the bytes of one.
const ROWS: usize = 8;
const ROW_BYTES: usize = 16;

/// Where a byte of a row is among the lanes' registers: in which lane, and which byte there.
pub(super) fn loaded_place(row: usize, byte: usize, transposed: bool) -> (usize, usize) {
    match transposed {
        false => (4 * row + byte / 4, byte % 4),
        true => (4 * (byte / 2) + row / 2, row % 2 * 2 + byte % 2),
    }
}

impl Machine<'_> {
    /// Are all lanes of the warp here?
    pub(super) fn check_aligned(&self, warp: &Warp, name: &str, lanes: u32) -> Result<()> {
        if lanes == u32::MAX {
            return Ok(());
        }
        let (here, missing) = (list(lanes), list(!lanes));
        let verb = if lanes.count_ones() == 1 { "executes" } else { "execute" };
        let also = if (!lanes).count_ones() == 1 { "does" } else { "do" };
        let what = format!(
            "{here} of warp {} {verb} {name}, and {missing} {also} not: all 32 lanes must \
             execute it together",
            warp.index
        );
        let lane = lanes.trailing_zeros() as usize;
        Err(self.fault(warp, FaultKind::InactiveLane, lane, what))
    }

    pub(super) fn load_matrices(&mut self, warp: &mut Warp, load: &LoadMatrices) -> Result<()> {
        let mut addresses = self.addresses(warp, &load.address);
        let lanes = u32::MAX >> (WARP - ROWS * load.results.len());
        let lane_of = |address: &u64| match load.address.space {
            Space::Generic => Space::of(*address),
            space => (space, *address),
        };
        for (lane, address) in addresses.iter_mut().enumerate() {
            let (space, offset) = lane_of(address);
            if lanes >> lane & 1 == 1 && space != Space::Shared {
                let what =
                    format!("ldmatrix reads a row at {address:#x}, which is not in shared memory");
                return Err(self.fault(warp, FaultKind::OutOfBounds, lane, what));
            }
            *address = offset;
        }
        let part = Part { space: Space::Shared, places: Places::new(&addresses, lanes) };
        self.check_alignment(warp, part.places, ROW_BYTES, Direction::READ)?;
        let mut wavefronts = Wavefronts { requests: 1, ..Wavefronts::default() };
        for matrix in 0..load.results.len() {
            let rows = 0xff << (ROWS * matrix);
            let rows = Places::new(&addresses, rows);
            let one = wavefronts_of(rows, ROW_BYTES as u64, true);
            wavefronts += Wavefronts { requests: 0, ..one };
        }
        self.tallies[warp.pc].shared_loads += wavefronts;
        self.move_counted(warp, &part, ROW_BYTES, Direction::READ)?;
        self.mark_matrices(warp, load);
        for (matrix, slot) in load.results.iter().enumerate() {
            let mut values = [[0; 4]; WARP];
            let stage = &self.stage[matrix * ROWS * ROW_BYTES..];
            for row in 0..ROWS {
                for byte in 0..ROW_BYTES {
                    let (lane, place) = loaded_place(row, byte, load.transposed);
                    values[lane][place] = stage[row * ROW_BYTES + byte];
                }
            }
            warp.registers.narrow[usize::from(slot.index)] = values.map(u32::from_le_bytes);
        }
        Ok(())
    }
}

/// D = A B + C. Products are exact; their sum is one of doubles, from C on and then along k,
/// and rounded once at the end.
pub(super) fn multiply(registers: &mut Registers, multiply: &Multiply) {
    let [rows, columns, depth] = multiply.shape;
    let a = values(registers, &multiply.a);
    let b = values(registers, &multiply.b);
    let mut sums = values(registers, &multiply.c);
    let fused = multiply.a.fragment.element == Element::F64;
    for row in 0..rows {
        let sums = &mut sums[row * columns..][..columns];
        for k in 0..depth {
            let factor = a[row * depth + k];
            let others = &b[k * columns..][..columns];
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = match fused {
                    true => factor.mul_add(*other, *sum),
                    false => *sum + factor * other,
                };
            }
        }
    }
    let Matrix { fragment, registers: slots } = &multiply.d;
    let (element, each) = (fragment.element, fragment.element.in_register());
    let bits = 8 * element.bytes();
    let mut results = [[0; WARP]; MOST_ELEMENTS / WARP];
    fragment.each(|lane, number, place| {
        let value = element.bits(sums[place], multiply.saturates);
        results[number / each][lane] |= value << (bits * (number % each));
    });
    let needed = fragment.registers();
    for (number, slot) in slots.iter().enumerate() {
        for (lane, value) in results[number % needed].iter().enumerate() {
            registers.set(*slot, lane, *value);
        }
    }
}

/// The elements of a matrix, in the order of their places.
fn values(registers: &Registers, matrix: &Matrix) -> [f64; MOST_ELEMENTS] {
    let Matrix { fragment, registers: slots } = matrix;
    let (element, each) = (fragment.element, fragment.element.in_register());
    let mut values = [0.0; MOST_ELEMENTS];
    fragment.each(|lane, number, place| {
        let register = registers.get(slots[number / each], lane);
        values[place] = element.value(register, number % each);
    });
    values
}
