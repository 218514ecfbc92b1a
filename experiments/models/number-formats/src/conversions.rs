//! Is the rounding right? Every converted number is compared, by integer arithmetic and by the
//! instructions of newer GPUs. And how long does a conversion take?

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::launch::threads;
use lab::{Case, Ceiling, Lab, Result, check};
use rayon::prelude::*;

use crate::formats::Rounding;
use crate::instructions;
use crate::{Kernels, random};

/// The lower halves of the first floats, so that ties are among them; later ones are random.
const LOWER: [u32; 4] = [0, 0x8000, 0x1000, 0x3000];

// ANCHOR: input
/// The bits of float i: all 2^16 upper halves, again and again, each time with others
/// below them. Zeros, subnormal numbers, infinities and what is not a number are included.
fn float(i: usize) -> u32 {
    let lower = LOWER.get(i >> 16).copied();
    (i as u32) << 16 | lower.unwrap_or_else(|| random(i) >> 16)
}
// ANCHOR_END: input

pub(crate) fn conversions(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    kernels: &Kernels,
    formats: &[Rounding],
) -> Result<()> {
    // As many floats as fill the L2 cache four times, and every upper half five times. A
    // GPU with too little memory for that gets fewer.
    let most = lab.free_bytes()? / 16 / 4 * 4;
    let count = lab.l2_bytes().max(5 << 16).min(most);
    let floats: Vec<u32> = (0..count).into_par_iter().map(float).collect();
    let from = stream.clone_htod(&floats)?;
    let mut to = stream.alloc_zeros::<u8>(4 * count + check::GUARD)?;
    let instructions = instructions::load(lab)?;

    for rounding in formats {
        let format = rounding.format;
        // A number occupies 1, 2 or 4 bytes, and is in the upper bits of them.
        let width = format.bits().next_power_of_two() as usize / 8;
        let unused = 8 * width as u32 - format.bits();
        let convert = |bits: &u32| rounding.nearest(f32::from_bits(*bits)) << unused;
        let expected: Vec<u32> = floats.par_iter().map(convert).collect();

        for (way, by_instruction) in [("integers", false), ("instruction", true)] {
            let case = Case::new("convert")
                .with("kind", format.name)
                .with("way", way)
                .reads(size_of_val(&floats[..]))
                .writes(width * count)
                .ceiling(Ceiling::DeviceMemory)
                .footprint((4 + width) * count, lab.l2_bytes());
            if by_instruction && !instructions::has(format.name) {
                continue;
            }
            if by_instruction && instructions.is_none() {
                lab.skip(case, "this GPU has no instructions for numbers of 8 bits");
                continue;
            }
            let run = |to: &mut CudaSlice<u8>, fours| match &instructions {
                Some(kernels) if by_instruction => instructions::convert(
                    kernels,
                    stream,
                    format.name,
                    &from,
                    to,
                    fours,
                ),
                _ => {
                    let name = format!("to_{}", format.name);
                    kernels.to(&name, stream, threads(fours), &from, to, fours)
                }
            };
            // A size that no block divides, then all of them.
            let fours = check::ragged(count / 4);
            stream.memset_zeros(&mut to)?;
            run(&mut to, fours)?;
            compare(stream, &to, width, &expected[..4 * fours])?;
            stream.memset_zeros(&mut to)?;
            let timed =
                case.time_on_gpu(lab, stream, |_| run(&mut to, count / 4))?;
            let checked = compare(stream, &to, width, &expected)?;
            timed.checked(checked).record(lab)?;
        }
    }
    Ok(())
}

/// Compares numbers of this width in bytes with what they have to be, bit for bit. Nothing
/// may be written after them.
fn compare(
    stream: &Arc<CudaStream>,
    to: &CudaSlice<u8>,
    width: usize,
    expected: &[u32],
) -> Result<u64> {
    let bytes = width * expected.len();
    let got = stream.clone_dtoh(&to.slice(..bytes))?;
    check::untouched("convert", stream, to, bytes)?;
    let number = |bytes: &[u8]| {
        bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
    };
    let got: Vec<u32> = got.par_chunks_exact(width).map(number).collect();
    check::every_element("convert", &got, |i| expected[i])
}
