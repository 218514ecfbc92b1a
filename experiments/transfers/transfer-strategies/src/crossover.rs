//! Where transfers stop mattering: how much must a kernel do to take as long as the copy?

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use lab::launch::threads;
use lab::memory::power_of_two_within;
use lab::{Case, Ceiling, Lab, Result, check};
use rayon::prelude::*;

use crate::{GIB, Kernels, WORD_BYTES, value};

/// The least that a kernel can do with 1 GiB: read it once, in the GPU's own memory.
pub(crate) fn read_once(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);
    let grid = threads(lab.resident_threads()?);
    let most = if lab.emulated() { GIB / 16 } else { GIB };
    let bytes = most.min(power_of_two_within(lab.free_bytes()? / 2));
    let words = (0..bytes / WORD_BYTES).into_par_iter();
    let ramp: Vec<f32> = words.map(value).collect();
    let input = stream.clone_htod(&ramp)?;
    let mut sum = stream.alloc_zeros::<u32>(1)?;
    let mut turns = 0u32;
    let timed = Case::new("read")
        .with("bytes", bytes)
        .reads(bytes)
        .ceiling(Ceiling::DeviceMemory)
        .footprint(bytes, lab.l2_bytes())
        .time_on_gpu(lab, &stream, |_| {
            turns += 1;
            kernels.read(&stream, grid, &input, &mut sum, ramp.len() / 4)
        })?;
    let once = ramp.iter().fold(0u32, |sum, word| sum.wrapping_add(word.to_bits()));
    let total = once.wrapping_mul(turns);
    check::every_element("read", &stream.clone_dtoh(&sum)?, |_| total)?;
    timed.checked(ramp.len() as u64).record(lab)
}

/// What the kernel's model says, if the memory's peak is known: as long as the slower of
/// reading and writing the words, and `rounds` multiply-adds (2 FLOP) on each.
pub(crate) fn bound_seconds(
    lab: &Lab,
    words: usize,
    rounds: usize,
) -> Result<Option<f64>> {
    // At the highest clock, each lane does a multiply-add in each cycle.
    let context = lab.context();
    let lanes = match context.compute_capability()? {
        (7, _) | (8, 0) => 64.0,
        _ => 128.0,
    };
    let clock_khz = context.attribute(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?;
    let multiply_adds =
        lanes * lab.multiprocessors() as f64 * f64::from(clock_khz) * 1e3;
    let computing = rounds as f64 * words as f64 / multiply_adds;
    Ok(lab.memory_peak().map(|memory_peak| {
        let memory = 2.0 * (words * WORD_BYTES) as f64 / memory_peak;
        memory.max(computing)
    }))
}
