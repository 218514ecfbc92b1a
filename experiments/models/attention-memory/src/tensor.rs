//! Tensor cores: `flash` in BF16, with heads of 128 numbers, with and without a mask; by `mma`, an
//! instruction of a warp, in two versions, and by `wgmma`, one of four.

use cudarc::driver::{CudaSlice, LaunchConfig};
use lab::launch::{tensor_map, threads};
use lab::{Case, Lab, MemoryReading, Result};

use crate::attention::{Attention, Inputs};
use crate::shape::{Method, Shape};

// SAFETY: `narrow` and `widen` use `count` elements. `flash` stays within `n` rows of 128
// elements for each head; it is launched with as much shared memory as its tiles take.
lab::kernels! { unsafe "attention-tensor" {
    fn narrow(from: &CudaSlice<f32>, to: &mut CudaSlice<u16>, count: usize);
    fn widen(from: &CudaSlice<u16>, to: &mut CudaSlice<f32>, count: usize);
    fn flash(
        q: &CudaSlice<u16>, k: &CudaSlice<u16>, v: &CudaSlice<u16>,
        out: &mut CudaSlice<u16>, n: u32, scale: f32, causal: u32,
    );
} }

mod lean {
    use cudarc::driver::CudaSlice;

    // SAFETY: as `flash` above.
    lab::kernels! { unsafe "attention-lean" {
        fn flash(
            q: &CudaSlice<u16>, k: &CudaSlice<u16>, v: &CudaSlice<u16>,
            out: &mut CudaSlice<u16>, n: u32, scale: f32, causal: u32,
        );
    } }
}

mod hopper {
    use cudarc::driver::CudaSlice;

    // SAFETY: the copy unit stays within what the three maps describe, and threads within `n`
    // rows of 128 elements for each head.
    lab::kernels! { unsafe "attention-hopper" {
        fn flash(
            q: [u64; 16], k: [u64; 16], v: [u64; 16], out: &mut CudaSlice<u16>, n: u32,
            scale: f32, causal: u32,
        );
    } }
}

/// HEAD and QUERIES in the kernel files.
const HEAD: usize = 128;
const QUERIES: usize = 128;
/// KEYS and THREADS with instructions of a warp, and the bytes of the tiles of Q, K and V.
const KEYS: usize = 64;
const THREADS: u32 = 128;
const TILES_BYTES: usize = (QUERIES + 2 * KEYS) * HEAD * size_of::<u16>();
/// The same with two tiles of each of K and V.
const LEAN_TILES_BYTES: usize = (QUERIES + 4 * KEYS) * HEAD * size_of::<u16>();
/// The same with instructions of four warps, with two tiles of each of K and V, from a
/// multiple of 1,024 bytes on.
const HOPPER_THREADS: u32 = 384;
const HOPPER_TILES_BYTES: usize = (1 + 2 * 2) * 128 * HEAD * size_of::<u16>() + 1024;
/// Heads in the guide: 4 sequences, 32 heads each.
const HEADS: usize = 128;
/// How far a result may be from that in FP32, relative to 1 / √(keys that the row sees):
/// some roundings to 8 bits, of elements that are seldom larger than 5 times that.
const BOUND: f32 = 0.03;

/// All lengths without a mask, and the `masked` one with it, too.
pub(crate) fn experiment(
    lab: &mut Lab,
    attention: &Attention,
    lengths: impl Iterator<Item = usize>,
    masked: usize,
) -> Result<()> {
    let (Some(module), Some(lean)) = (lab.load(KERNEL)?, lab.load(lean::KERNEL)?)
    else {
        let reason = "BF16 needs tensor cores of compute capability 8.0";
        lab.skip(Case::new("tensor"), reason);
        return Ok(());
    };
    let ways = Ways {
        mma: Kernels::of(&module)?,
        lean: lean::Kernels::of(&lean)?,
        wgmma: lab
            .load(hopper::KERNEL)?
            .map(|module| hopper::Kernels::of(&module))
            .transpose()?,
    };
    if ways.wgmma.is_none() {
        let why = "its instructions are those of compute capability 9.0 alone";
        lab.skip(Case::new(Way::Wgmma.name()), why);
    }
    let heads = if lab.quick() { 2 } else { HEADS };

    // Sizes that no tile divides come first.
    let small = |tokens, causal| Shape { tokens, heads: 2, head: HEAD, causal };
    for shape in [small(1, false), small(133, false), small(133, true)] {
        let mut run = Run::new(attention, &ways, &shape)?;
        for way in ways.all() {
            run.flash(way)?;
            run.check()?;
        }
    }
    for tokens in lengths {
        for causal in [false, true] {
            let shape = Shape { tokens, heads, head: HEAD, causal };
            if !causal || tokens == masked {
                measure(lab, attention, &ways, &shape)?;
            }
        }
    }
    Ok(())
}

fn measure(
    lab: &mut Lab,
    attention: &Attention,
    ways: &Ways,
    shape: &Shape,
) -> Result<()> {
    // The arrays in BF16, and those in FP32 that the result is compared with.
    let needed = 2 * shape.bytes() + shape.bytes() + Method::HeadByHead.bytes(shape);
    if needed > lab.free_bytes()? / 10 * 9 {
        let reason = format!("needs {} MiB of free device memory", needed >> 20);
        lab.skip(shape.case(Way::Mma.name()), reason);
        return Ok(());
    }
    let mut run = Run::new(attention, ways, shape)?;
    for way in ways.all() {
        let allocated = vec![MemoryReading { seconds: 0.0, bytes: run.bytes }];
        shape
            .case(way.name())
            .memory("allocated", allocated)
            .time_on_gpu(lab, &attention.stream, |_| run.flash(way))?
            .checked(run.check()?)
            .record(lab)?;
    }
    Ok(())
}

lab::words! {
    /// The instruction that multiplies.
    enum Way {
        Mma = "tensor",
        /// The same, with fewer instructions around it.
        Lean = "lean",
        Wgmma = "wgmma",
    }
}

struct Ways {
    mma: Kernels,
    lean: lean::Kernels,
    /// Where the GPU has it.
    wgmma: Option<hopper::Kernels>,
}

impl Ways {
    fn all(&self) -> impl Iterator<Item = Way> {
        let has = |way: &Way| *way != Way::Wgmma || self.wgmma.is_some();
        Way::ALL.into_iter().filter(has)
    }
}

/// Inputs and output in BF16.
struct Run<'a> {
    attention: &'a Attention,
    ways: &'a Ways,
    shape: &'a Shape,
    inputs: [CudaSlice<u16>; 3],
    out: CudaSlice<u16>,
    /// Bytes that were allocated for them.
    bytes: u64,
}

impl<'a> Run<'a> {
    fn new(
        attention: &'a Attention,
        ways: &'a Ways,
        shape: &'a Shape,
    ) -> Result<Run<'a>> {
        let (stream, count) = (&attention.stream, shape.elements());
        let exact = attention.inputs(shape)?;
        let before = attention.used_bytes()?;
        let room = || stream.alloc_zeros(count);
        let (mut inputs, out) = ([room()?, room()?, room()?], room()?);
        let bytes = attention.used_bytes()? - before;
        for (exact, input) in exact.iter().zip(&mut inputs) {
            ways.mma.narrow(stream, threads(count), exact, input, count)?;
        }
        Ok(Run { attention, ways, shape, inputs, out, bytes })
    }

    fn flash(&mut self, way: Way) -> Result<()> {
        let Shape { tokens, heads, causal, .. } = *self.shape;
        let (stream, [q, k, v]) = (&self.attention.stream, &self.inputs);
        let (n, scale, out) = (tokens as u32, self.shape.scale(), &mut self.out);
        let config = |threads, bytes| LaunchConfig {
            grid_dim: (tokens.div_ceil(QUERIES) as u32, heads as u32, 1),
            block_dim: (threads, 1, 1),
            shared_mem_bytes: bytes as u32,
        };
        let Ways { mma, lean, wgmma } = self.ways;
        let causal = causal.into();
        match (way, wgmma) {
            (Way::Wgmma, Some(wgmma)) => {
                let map =
                    |array| tensor_map(stream, array, [HEAD, tokens, heads], 128);
                let (q, k, v) = (map(q)?, map(k)?, map(v)?);
                let config = config(HOPPER_THREADS, HOPPER_TILES_BYTES);
                wgmma.flash(stream, config, q, k, v, out, n, scale, causal)
            }
            (Way::Lean, _) => {
                let config = config(THREADS, LEAN_TILES_BYTES);
                lean.flash(stream, config, q, k, v, out, n, scale, causal)
            }
            _ => {
                let config = config(THREADS, TILES_BYTES);
                mma.flash(stream, config, q, k, v, out, n, scale, causal)
            }
        }
    }

    /// Compares every element with what the naive kernels make of the same inputs in FP32.
    fn check(&self) -> Result<u64> {
        let (attention, shape) = (self.attention, self.shape);
        let (stream, count) = (&attention.stream, shape.elements());
        let widened = |narrow: &CudaSlice<u16>| {
            let mut wide = stream.alloc_zeros(count)?;
            self.ways.mma.widen(stream, threads(count), narrow, &mut wide, count)?;
            Ok::<_, anyhow::Error>(wide)
        };
        let [q, k, v] = &self.inputs;
        let inputs: Inputs = [widened(q)?, widened(k)?, widened(v)?];
        let mut expected = stream.alloc_zeros(count)?;
        let method = Method::HeadByHead;
        let mut scores = attention.scores(shape, method)?;
        attention.run(shape, method, &inputs, &mut scores, &mut expected)?;
        attention.compare(shape, &widened(&self.out)?, &expected, BOUND)
    }
}
