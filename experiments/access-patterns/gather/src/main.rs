//! # What does random access cost, and what does it help to sort the indices?
//!
//! Thread i reads `table[indices[i]]` and writes element i. The indices are dense, and so
//! are the results; the table is where it hurts. Every case has as many indices, spread
//! evenly over the table. Only their order differs:
//!
//! ```text
//! sorted:         0 1 2 3 4 5 6 7 8 9 …
//! in groups of 4: 2 0 3 1 6 5 4 7 9 8 …   shuffled among neighbours
//! random:         6 2 9 0 5 8 1 7 3 4 …   one group of all
//! in steps of 4:  0 4 8 … 1 5 9 … 2 6 …   round after round
//! ```
//!
//! **Prediction:** a warp with random indices touches 32 sectors, and the L2 cache
//! fetches 64 bytes for each. From a table that is much larger than the cache, an element
//! moves 64 bytes, and 4 for its index and 4 for the result: so the 12 useful bytes reach
//! 12/72 = 17 % of the memory's peak, whatever the table's size. Sorting saves what
//! neighbours share: nothing if the indices lie more than 64 bytes apart, and with one
//! index for every 4 bytes it makes a random read a dense one.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaModule, CudaSlice, CudaStream, LaunchConfig, PushKernelArg, sys::CUlimit,
};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "gather",
    source: include_str!("../../../../kernels/gather.cu"),
    ptx: include_str!("../../../../kernels/ptx/gather.ptx"),
};

const SMALLEST_TABLE_BITS: u32 = 20;
const LARGEST_TABLE_BITS: u32 = 31;
const SECTOR_BYTES: usize = 32;
const WORD_BYTES: usize = 4;
const WARP: u32 = 32;

fn main() -> ExitCode {
    let question =
        "What does random access cost, and what does it help to sort the indices?";
    lab::run("gather", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. As many indices as fill the L2 cache four times. Tables up to 8 GiB, or up to
    //    what there is room for.
    let stream = lab.context().new_stream()?;
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.quick() { 4 } else { 1 };
    let count_bits = wanted.ilog2();
    let count = 1usize << count_bits;
    let room = (lab.free_bytes()? / 10 * 9 / WORD_BYTES).saturating_sub(2 * count);
    let most_bits = room.max(1).ilog2().min(LARGEST_TABLE_BITS);
    let mut arrays = Arrays {
        table: stream.alloc_zeros(1 << most_bits)?,
        indices: stream.alloc_zeros(count)?,
        dense: stream.alloc_zeros(count)?,
        module: lab.module()?.clone(),
        stream: stream.clone(),
    };
    //    The L2 cache asks the memory for so many bytes when it misses.
    let fetch = lab.context().get_limit(CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY);
    let fetch_bytes = fetch.unwrap_or(0).max(SECTOR_BYTES);

    // 2. A number of indices that no block divides.
    let pick = Pick {
        count_bits,
        table_bits: SMALLEST_TABLE_BITS,
        group_bits: 10,
        step_bits: 0,
    };
    for kernel in ["gather", "scatter"] {
        let pick = Pick { table_bits: count_bits.min(most_bits), ..pick };
        arrays.prepare(kernel, &pick)?;
        arrays.launch(kernel, count.min(100_003))?;
        arrays.check(kernel, &pick, count.min(100_003))?;
    }

    // 3. What to measure: sorted and random, from tables of all sizes; everything between
    //    the two, from one large table; and the way back, into that table.
    let mut cases = Vec::new();
    let orders = [("sorted", 0), ("random", count_bits)];
    for table_bits in SMALLEST_TABLE_BITS..=LARGEST_TABLE_BITS {
        for (order, group_bits) in orders {
            let case = Case::new("table").with("order", order);
            cases.push((case, "gather", Pick { table_bits, group_bits, ..pick }));
        }
    }
    let table_bits = most_bits.min(LARGEST_TABLE_BITS - 1);
    let large = Pick { table_bits, group_bits: 0, ..pick };
    for group_bits in (0..=count_bits).step_by(2) {
        let case = Case::new("group").with("group", 1usize << group_bits);
        cases.push((case, "gather", Pick { group_bits, ..large }));
    }
    for step_bits in (0..=count_bits - 6).step_by(2) {
        let case = Case::new("step").with("step", 1usize << step_bits);
        cases.push((case, "gather", Pick { step_bits, ..large }));
    }
    for (order, group_bits) in orders {
        let case = Case::new("scatter").with("order", order);
        cases.push((case, "scatter", Pick { group_bits, ..large }));
    }

    for (case, kernel, pick) in cases {
        let case = case.with("bytes", pick.table_bytes());
        if pick.table_bits > most_bits {
            let mib = pick.table_bytes() >> 20;
            lab.skip(case, format!("needs {mib} MiB of free device memory"));
            continue;
        }

        // 4. Time it, on indices that are made anew, with what is written cleared.
        arrays.prepare(kernel, &pick)?;
        let samples = lab.time_on_gpu(&stream, |_| arrays.launch(kernel, count))?;
        let checked = arrays.check(kernel, &pick, count)?;

        // 5. Record what was asked for: an index, an element read and one written, each 4
        //    bytes. Beside it, what the model says.
        let bytes = count * WORD_BYTES;
        let from_table = pick.fetched_bytes(fetch_bytes, lab.l2_bytes());
        let mut case = case
            .reads(2 * bytes)
            .writes(bytes)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(2 * bytes + pick.table_bytes(), lab.l2_bytes())
            .model("sectors_per_request", pick.sectors_per_request())
            .checked(checked)
            .samples(samples);
        if kernel == "gather" {
            case = case.model("dram_read_bytes", (bytes + from_table) as f64);
            if let Some(peak) = lab.memory_peak() {
                let share = 3.0 * bytes as f64 / (2 * bytes + from_table) as f64;
                case = case.model("bound_bytes_per_second", peak * share);
            }
        }
        lab.record(case)?;
    }
    Ok(())
}

/// 2^`count_bits` indices, spread evenly over a table of 2^`table_bits` words. They are
/// sorted, or shuffled in groups of 2^`group_bits` neighbours, or in an order of steps,
/// of 2^`step_bits` places each.
#[derive(Clone, Copy)]
struct Pick {
    count_bits: u32,
    table_bits: u32,
    group_bits: u32,
    step_bits: u32,
}

impl Pick {
    fn table_bytes(&self) -> usize {
        WORD_BYTES << self.table_bits
    }

    /// Index i, as in the kernel.
    fn index(&self, i: u32) -> u32 {
        let Pick { count_bits, table_bits, group_bits, step_bits } = *self;
        let group = i >> group_bits << group_bits;
        let rank = group + mix(i - group, group_bits);
        let rank = rank << step_bits | rank >> (count_bits - step_bits);
        let rank = rank & ((1 << count_bits) - 1);
        if table_bits <= count_bits {
            return rank >> (count_bits - table_bits);
        }
        let stretch_bits = table_bits - count_bits;
        (rank << stretch_bits)
            + (rank.wrapping_mul(2_654_435_761) >> (32 - stretch_bits))
    }

    // ANCHOR: model
    /// The model: sectors of the table that a warp touches, the mean of many warps.
    fn sectors_per_request(&self) -> f64 {
        let warps = (1u32 << self.count_bits) / WARP;
        let some: Vec<u32> =
            (0..warps).step_by((warps / 4096).max(1) as usize).collect();
        let sector = |i| self.index(i) as usize * WORD_BYTES / SECTOR_BYTES;
        let of_warp = |warp| (warp * WARP..(warp + 1) * WARP).map(sector);
        let touched = |warp: &u32| of_warp(*warp).collect::<BTreeSet<_>>().len();
        some.iter().map(touched).sum::<usize>() as f64 / some.len() as f64
    }

    /// Bytes of the table that the memory has to read. Every granule that is wanted comes
    /// at least once. If a group of indices reaches further than the L2 cache, a granule
    /// that is wanted is there with the probability that the cache has of holding it.
    fn fetched_bytes(&self, fetch_bytes: usize, l2_bytes: usize) -> usize {
        if self.table_bytes() <= l2_bytes {
            return 0;
        }
        let count = 1usize << self.count_bits;
        let once = count.min(self.table_bytes() / fetch_bytes) * fetch_bytes;
        let reach = self.table_bytes() >> (self.count_bits - self.group_bits);
        let missing = (1.0 - l2_bytes as f64 / reach as f64).max(0.0);
        once.max(((count * fetch_bytes) as f64 * missing) as usize)
    }
    // ANCHOR_END: model
}

/// The permutation of the numbers below 2^`bits` that the kernel uses.
fn mix(mut x: u32, bits: u32) -> u32 {
    for odd in [0x9E37_79B1u32, 0x85EB_CA6B, 0xC2B2_AE35] {
        x = x.wrapping_mul(odd) & ((1 << bits) - 1);
        x ^= x >> bits.div_ceil(2);
    }
    x
}

/// Word i of what `fill` makes.
fn pattern(i: u32) -> u32 {
    i.wrapping_mul(2_654_435_761)
}

/// The table, the indices, and what comes from the table or goes there.
struct Arrays {
    table: CudaSlice<u32>,
    indices: CudaSlice<u32>,
    dense: CudaSlice<u32>,
    module: Arc<CudaModule>,
    stream: Arc<CudaStream>,
}

impl Arrays {
    /// Makes the indices, fills what the kernel reads and clears what it writes.
    fn prepare(&mut self, kernel: &str, pick: &Pick) -> Result<()> {
        let make_indices = self.module.load_function("make_indices")?;
        let mut launch = self.stream.launch_builder(&make_indices);
        launch
            .arg(&mut self.indices)
            .arg(&pick.count_bits)
            .arg(&pick.table_bits)
            .arg(&pick.group_bits)
            .arg(&pick.step_bits);
        // SAFETY: `make_indices` takes (indices, four numbers of bits) and writes
        // 2^count_bits indices, one for each thread.
        unsafe { launch.launch(in_blocks(1 << pick.count_bits)) }?;

        let (read, written) = match kernel {
            "gather" => (&mut self.table, &mut self.dense),
            _ => (&mut self.dense, &mut self.table),
        };
        self.stream.memset_zeros(written)?;
        let (fill, count) = (self.module.load_function("fill")?, read.len());
        let mut launch = self.stream.launch_builder(&fill);
        launch.arg(read).arg(&count);
        // SAFETY: `fill` takes (pointer, count) and writes `count` words.
        unsafe { launch.launch(in_blocks(1 << 20)) }?;
        Ok(())
    }

    fn launch(&mut self, kernel: &str, count: usize) -> Result<()> {
        let kernel = self.module.load_function(kernel)?;
        let elements = count as u32;
        let mut launch = self.stream.launch_builder(&kernel);
        launch
            .arg(&mut self.table)
            .arg(&self.indices)
            .arg(&mut self.dense)
            .arg(&elements);
        // SAFETY: the kernel takes (table, indices, dense, count). Every index is less
        // than the table's length; indices and dense array hold `count` or more.
        unsafe { launch.launch(in_blocks(count)) }?;
        Ok(())
    }

    /// Compares every element; what was scattered is gathered first.
    fn check(&mut self, kernel: &str, pick: &Pick, count: usize) -> Result<u64> {
        if kernel == "scatter" {
            self.stream.memset_zeros(&mut self.dense)?;
            self.launch("gather", count)?;
        }
        let indices = self.stream.clone_dtoh(&self.indices.slice(..count))?;
        let some = &indices[..count.min(100_003)];
        check::every_element("indices", some, |i| pick.index(i as u32))?;
        let got = self.stream.clone_dtoh(&self.dense.slice(..count))?;
        let gathers = kernel == "gather";
        check::every_element(kernel, &got, |i| {
            pattern(if gathers { indices[i] } else { i as u32 })
        })
    }
}

/// Blocks of 256 threads, enough for `threads`.
fn in_blocks(threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (threads.div_ceil(256) as u32, 1, 1),
        block_dim: (256, 1, 1),
        shared_mem_bytes: 0,
    }
}
