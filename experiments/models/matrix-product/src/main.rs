//! # What makes a matrix product fast?
//!
//! Page: `book/src/models/matrix-product.md`. Its sections show each file, or what it measures:
//!
//! | file | section | question |
//! |---|---|---|
//! | `main.rs` | The experiment | the four kernels for floats, by the size of the matrices |
//! | [`matrix`] | | what is in the matrices, and what the product must be |
//! | [`ceiling`] | Measured | how fast can the GPU multiply at all? |
//! | [`tensor`] | Tensor cores | the same product of BF16, in tensor cores |
//! | [`library`] | Measured; Tensor cores | how fast is cuBLAS, in each precision? |
//! | [`eight`] | Tensor cores | and with numbers of 8 bits? |
//! | [`host`] | Tensor cores | how long does the host take? |
//! | [`lasting`] | Burst and sustained rates | how fast in a burst, and how fast when it goes on? |
//! | [`clocked`] | Burst and sustained rates | at what clock, by the kernel itself? |
//! | [`data`] | The trap | does the time depend on what is in the matrices? |
//!
//! A product of two matrices of n × n uses each element n times. So what counts is where a
//! kernel keeps an element for its next use: nowhere, in shared memory, or in registers.
//!
//! ```text
//! naive       a thread for each element of the product; each operand comes from memory
//! tiled       32 × 32 threads share two tiles in shared memory
//! registers   a thread computes 8 × 8 elements from what it has in registers
//! pipelined   16 × 8, and the next tiles are copied meanwhile
//! deep        the same with deeper tiles, and fewer barriers
//! shared_out  the same, and all multiprocessors have equally much to do
//! cublas      NVIDIA's library
//! ```
//!
//! **Prediction:** a tile of 32 × 32 fetches each element 32 times less often. If memory
//! were all, `tiled` would be 32 times as fast as `naive`. The chapter says 5 to 15 times.

mod ceiling;
mod clocked;
mod data;
mod eight;
mod host;
mod lasting;
mod library;
mod matrix;
mod tensor;

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaSlice, CudaStream, DeviceRepr, LaunchConfig, ValidAsZeroBits,
};
use lab::launch::{blocks, tiles};
use lab::memory::power_of_two_within;
use lab::{Case, Lab, Result, check};

use matrix::{Element, Multiplier, Product};

// SAFETY: every kernel stays within three matrices of n * n elements; `multiply_add` writes
// a float for each thread, `read_clocks` two words.
lab::kernels! { unsafe "matrix-product" {
    fn product["naive", "tiled", "registers"](
        a: &CudaSlice<f32>, b: &CudaSlice<f32>, c: &mut CudaSlice<f32>, n: u32,
    );
    fn multiply_add(out: &mut CudaSlice<f32>, steps: u32, factor: f32, addend: f32);
    fn read_clocks(out: &mut CudaSlice<u64>, nanoseconds: u32);
} }

/// Sides of the matrices.
const SIDES: [usize; 6] = [256, 512, 1024, 2048, 4096, 8192];
/// The longest side, which takes too long with simple kernels.
const LARGE: usize = 8192;

fn main() -> ExitCode {
    lab::run!(Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    let (stream, kernels) = (lab.context().new_stream()?, Kernels::load(lab)?);

    // 1. How many threads each kernel takes, and how many elements its blocks compute.
    let way = |name: &'static str, config: fn(usize) -> LaunchConfig| {
        let (kernels, stream) = (kernels.clone(), stream.clone());
        let multiply = move |a: &_, b: &_, c: &mut _, n: usize| {
            kernels.product(name, &stream, config(n), a, b, c, n as u32)
        };
        Multiplier { largest: LARGE / 2, ..Multiplier::new(name, multiply) }
    };
    let mut floats = vec![
        way("naive", |n| tiles((n, n), (32, 8))),
        way("tiled", |n| tiles((n, n), (32, 32))),
        way("registers", |n| {
            let tile = n.div_ceil(128) as u32;
            LaunchConfig { grid_dim: (tile, tile, 1), ..blocks(1, 256) }
        }),
    ];

    // 2. What newer GPUs can do besides, and the library.
    let tensor = tensor::ways(lab, &stream)?;
    floats.extend(tensor.floats);
    let clocked = tensor.clocked;
    let library = library::ways(lab, &stream)?;
    let floats_in_tensor_cores = !library.floats.is_empty(); // the last are TF32
    floats.extend(library.floats);
    let halves: Vec<_> = tensor.halves.into_iter().chain(library.halves).collect();
    let takes_eight_bits = eight::is_there(lab, &stream)?;

    // 3. Sides that no tile divides: the second only where rows need not be aligned.
    for n in [200, 251, 512] {
        let product = Product::new(n);
        ragged(&stream, &product, &floats)?;
        ragged(&stream, &product, &halves)?;
    }
    if takes_eight_bits {
        eight::check(&stream, &Product::new(208))?;
    }
    if let Some(clocked) = &clocked {
        clocked::check(&stream, clocked, &Product::new(200))?;
    }

    // 4. All sizes; a GPU with fewer multiprocessors gets smaller matrices.
    let largest = power_of_two_within(64 * lab.multiprocessors() - 1);
    let largest = largest.min(if lab.quick() { 2048 } else { LARGE });
    for n in SIDES.into_iter().filter(|n| *n <= largest) {
        let product = Product::new(n);
        measure(lab, &stream, &product, &floats)?;
        measure(lab, &stream, &product, &halves)?;
        if takes_eight_bits {
            eight::measure(lab, &stream, &product)?;
        }
    }
    ceiling::measure(lab, &stream, &kernels)?;
    data::measure(lab, &stream, &halves, largest)?;
    // 5. Tensor cores for a moment and for seconds.
    let of_floats = &floats[floats.len() - usize::from(floats_in_tensor_cores)..];
    for side in [largest / 2, largest] {
        let (kernels, stream) = (&kernels, &stream);
        let mut bench = lasting::Bench { lab, stream, kernels, side };
        bench.random(&halves)?;
        if side == largest {
            bench.whole(&halves[halves.len().saturating_sub(1)..])?;
            bench.random(of_floats)?;
            if takes_eight_bits {
                bench.eight_bits()?;
            }
        }
        if let Some(clocked) = &clocked {
            clocked::measure(lab, stream, kernels, clocked, side)?;
        }
    }
    host::measure(lab, largest.min(1024))
}

/// Every way that takes matrices of this size, compared in each element.
fn ragged<T>(
    stream: &Arc<CudaStream>,
    product: &Product,
    ways: &[Multiplier<T>],
) -> Result<()>
where
    T: Element + DeviceRepr + ValidAsZeroBits,
{
    let n = product.side();
    let (a, b) = (stream.clone_htod(&product.left::<T>())?, product.right::<T>());
    let (b, expected) = (stream.clone_htod(&b)?, product.expected::<T>());
    for way in ways.iter().filter(|way| way.takes(n)) {
        let mut c = stream.alloc_zeros(n * n + check::GUARD)?;
        (way.multiply)(&a, &b, &mut c, n)?;
        check::output(way.name, stream, &c, n * n, |i| expected[i])?;
    }
    Ok(())
}

/// Times every way to multiply matrices of this size.
fn measure<T>(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    product: &Product,
    ways: &[Multiplier<T>],
) -> Result<()>
where
    T: Element + DeviceRepr + ValidAsZeroBits,
{
    let n = product.side();
    let (a, b) = (stream.clone_htod(&product.left::<T>())?, product.right::<T>());
    let (b, expected) = (stream.clone_htod(&b)?, product.expected::<T>());
    let bytes = n * n * size_of::<T>();
    for way in ways.iter().filter(|way| way.takes(n) && n <= way.largest) {
        let mut c = stream.alloc_zeros::<T>(n * n)?;
        (way.multiply)(&a, &b, &mut c, n)?; // cuBLAS may load a kernel when it needs it
        stream.memset_zeros(&mut c)?;
        Case::new(way.name)
            .with("side", n)
            .with("element", T::NAME)
            .reads(2 * bytes)
            .writes(bytes)
            .computes(2 * n * n * n)
            .footprint(3 * bytes, lab.l2_bytes())
            .time_on_gpu(lab, stream, |_| (way.multiply)(&a, &b, &mut c, n))?
            .check_device(stream, &c, |i| expected[i])?
            .record(lab)?;
    }
    Ok(())
}
