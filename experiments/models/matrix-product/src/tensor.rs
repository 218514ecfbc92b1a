//! What newer GPUs can do besides: asynchronous copies to shared memory, and tensor cores.

use std::cell::RefCell;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, LaunchConfig};
use lab::launch::{blocks, tensor_map};
use lab::{Case, Lab, Result};

use crate::matrix::{Multiplier, Multipliers};

mod copies {
    use cudarc::driver::CudaSlice;

    // SAFETY: all stay within three matrices of n * n elements, if rows begin at multiples of
    // 16 bytes; `pipelined`, if n is a multiple of 256.
    lab::kernels! { unsafe "matrix-product-tensor" {
        fn product["pipelined", "pipelined_edges"](
            a: &CudaSlice<f32>, b: &CudaSlice<f32>, c: &mut CudaSlice<f32>, n: u32,
        );
        fn tensor(a: &CudaSlice<u16>, b: &CudaSlice<u16>, c: &mut CudaSlice<u16>, n: u32);
    } }
}

mod deep {
    use cudarc::driver::CudaSlice;

    // SAFETY: both stay within three matrices of n * n elements, if n is a multiple of 256.
    // `shared_out` has a tile of `parts` and a number of `ready` for each of its blocks, which are
    // no more than tiles.
    lab::kernels! { unsafe "matrix-product-deep" {
        fn deep(a: &CudaSlice<f32>, b: &CudaSlice<f32>, c: &mut CudaSlice<f32>, n: u32);
        fn shared_out(
            a: &CudaSlice<f32>, b: &CudaSlice<f32>, c: &mut CudaSlice<f32>, n: u32,
            parts: &mut CudaSlice<f32>, ready: &mut CudaSlice<u32>,
        );
    } }
}

mod hopper {
    use cudarc::driver::CudaSlice;

    // SAFETY: the copy unit stays within the matrices that the two maps describe, and threads
    // within the n * n elements of c; `clocks` has an entry for each number of a launch.
    lab::kernels! { unsafe "matrix-product-hopper" {
        fn product["warpgroups", "producer", "wide_stores", "pairs"](
            a: [u64; 16], b: [u64; 16], c: &mut CudaSlice<u16>, n: u32,
        );
        fn pairs_clocked(
            a: [u64; 16], b: [u64; 16], c: &mut CudaSlice<u16>, n: u32,
            clocks: &CudaSlice<[u64; 4]>, launch: u32,
        );
    } }
}

/// Width and height of the tiles of c of `pipelined` and of those below.
const TILE: (usize, usize) = (256, 128);
/// Bytes of shared memory of `pipelined`: four tiles of each matrix, a's with 4 floats after each
/// row.
const PIPELINED_BYTES: u32 = 4 * 8 * (128 + 4 + 256) * 4;
/// The same of `deep` and `shared_out`, whose tiles are twice as deep.
const DEEP_BYTES: u32 = 2 * PIPELINED_BYTES;
/// Bytes of shared memory of so many tiles of each matrix, from a multiple of 1,024 bytes on.
const fn tiles_bytes(tiles: u32) -> u32 {
    tiles * (128 * 64 + 64 * 256) * 2 + 1024
}
/// The simple kernel, and what changes in it, one after the other: threads that only copy, stores
/// of 16 bytes, and pairs of blocks that share a tile. Their blocks go on with other tiles.
const SIMPLE: &str = "warpgroups";
const STEPS: [&str; 3] = ["producer", "wide_stores", "pairs"];

/// A kernel that notes its clocks.
pub(crate) struct Clocked {
    kernels: hopper::Kernels,
    queue: Arc<CudaStream>,
    config: LaunchConfig,
}

impl Clocked {
    /// c = a · b for matrices of n × n; the clocks become entry `launch` of `clocks`.
    pub(crate) fn multiply(
        &self,
        a: &CudaSlice<u16>,
        b: &CudaSlice<u16>,
        c: &mut CudaSlice<u16>,
        n: usize,
        clocks: &CudaSlice<[u64; 4]>,
        launch: usize,
    ) -> Result<()> {
        let Clocked { kernels, queue, config } = self;
        let a = tensor_map(queue, a, [n, n], 128)?;
        let b = tensor_map(queue, b, [n, n], 64)?;
        let (n, launch) = (n as u32, launch as u32);
        kernels.pairs_clocked(queue, *config, a, b, c, n, clocks, launch)
    }
}

/// The ways that this GPU has; the others are skipped.
pub(crate) fn ways(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<Multipliers> {
    let mut ways = Multipliers::default();
    let config = |n: usize, tile: (usize, usize), threads: usize| LaunchConfig {
        grid_dim: (n.div_ceil(tile.0) as u32, n.div_ceil(tile.1) as u32, 1),
        ..blocks(1, threads)
    };
    match lab.load(copies::KERNEL)? {
        Some(module) => {
            let kernels = copies::Kernels::of(&module)?;
            let (queue, ours) = (stream.clone(), kernels.clone());
            let pipelined = move |a: &_, b: &_, c: &mut _, n: usize| {
                let whole = n.is_multiple_of(256);
                let name = if whole { "pipelined" } else { "pipelined_edges" };
                let mut config = config(n, TILE, 256);
                config.shared_mem_bytes = PIPELINED_BYTES;
                ours.product(name, &queue, config, a, b, c, n as u32)
            };
            let queue = stream.clone();
            let tensor = move |a: &_, b: &_, c: &mut _, n: usize| {
                kernels.tensor(&queue, config(n, (128, 128), 128), a, b, c, n as u32)
            };
            ways.floats.push(Multiplier {
                multiple_of: 4,
                ..Multiplier::new("pipelined", pipelined)
            });
            ways.halves.push(Multiplier {
                multiple_of: 8,
                ..Multiplier::new("tensor", tensor)
            });
        }
        None => {
            let why = "asynchronous copies need a GPU of compute capability 8.0";
            lab.skip(Case::new("pipelined"), why);
            lab.skip(Case::new("tensor"), "so do tensor cores that multiply BF16");
        }
    }
    match lab.load(deep::KERNEL)? {
        Some(module) => {
            let kernels = deep::Kernels::of(&module)?;
            let shared_out = shared_out(lab, stream, kernels.clone())?;
            let queue = stream.clone();
            let deep = move |a: &_, b: &_, c: &mut _, n: usize| {
                let mut config = config(n, TILE, 256);
                config.shared_mem_bytes = DEEP_BYTES;
                kernels.deep(&queue, config, a, b, c, n as u32)
            };
            ways.floats.push(Multiplier {
                multiple_of: TILE.0,
                ..Multiplier::new("deep", deep)
            });
            ways.floats.push(shared_out);
        }
        None => {
            let why = "asynchronous copies need a GPU of compute capability 8.0";
            lab.skip(Case::new("deep"), why);
            lab.skip(Case::new("shared_out"), why);
        }
    }
    match lab.load(hopper::KERNEL)? {
        Some(module) => {
            let kernels = hopper::Kernels::of(&module)?;
            // Blocks that go on with other tiles: one on each multiprocessor, an even number.
            let stay = blocks(lab.multiprocessors() / 2 * 2, 384);
            ways.clocked = Some(Clocked {
                kernels: kernels.clone(),
                queue: stream.clone(),
                config: LaunchConfig { shared_mem_bytes: tiles_bytes(4), ..stay },
            });
            let all = [(SIMPLE, None, 3)].into_iter();
            for (name, stay, tiles) in
                all.chain(STEPS.map(|name| (name, Some(stay), 4)))
            {
                let (kernels, queue) = (kernels.clone(), stream.clone());
                let multiply = move |a: &_, b: &_, c: &mut _, n: usize| {
                    let mut config =
                        stay.unwrap_or_else(|| config(n, (256, 128), 256));
                    config.shared_mem_bytes = tiles_bytes(tiles);
                    let a = tensor_map(&queue, a, [n, n], 128)?;
                    let b = tensor_map(&queue, b, [n, n], 64)?;
                    kernels.product(name, &queue, config, a, b, c, n as u32)
                };
                ways.halves.push(Multiplier {
                    multiple_of: 8,
                    ..Multiplier::new(name, multiply)
                });
            }
        }
        None => {
            let why = "its instructions are those of compute capability 9.0 alone";
            for name in [SIMPLE].into_iter().chain(STEPS) {
                lab.skip(Case::new(name), why);
            }
            lab.skip(Case::new("clocked"), why);
        }
    }
    Ok(ways)
}

/// `deep` with as many blocks as multiprocessors, which share out the last tiles.
fn shared_out(
    lab: &Lab,
    stream: &Arc<CudaStream>,
    kernels: deep::Kernels,
) -> Result<Multiplier<f32>> {
    let queue = stream.clone();
    // On the emulated GPU so few that small matrices have tiles to share out.
    let most = if lab.emulated() { 3 } else { lab.multiprocessors() };
    let parts = RefCell::new(stream.alloc_zeros(most * TILE.0 * TILE.1)?);
    let ready = RefCell::new(stream.alloc_zeros(most)?);
    let multiply = move |a: &_, b: &_, c: &mut _, n: usize| {
        let tiles = n / TILE.0 * (n / TILE.1);
        let mut config = blocks(most.min(tiles), 256);
        config.shared_mem_bytes = DEEP_BYTES;
        let (parts, ready) = (&mut parts.borrow_mut(), &mut ready.borrow_mut());
        kernels.shared_out(&queue, config, a, b, c, n as u32, parts, ready)
    };
    Ok(Multiplier { multiple_of: TILE.0, ..Multiplier::new("shared_out", multiply) })
}
