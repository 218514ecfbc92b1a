//! # In which order should the fields of many elements lie in memory?
//!
//! A particle has eight fields of 4 bytes: position, velocity, mass, charge. An *array of
//! structures* keeps the fields of one particle side by side, a *structure of arrays*
//! keeps equal fields of all particles side by side. In between, *tiles* are structures
//! of arrays for a few particles each. Thread i works on particle i. Digits are the
//! threads of a warp that read the first field, a box is a sector of 32 bytes:
//!
//! ```text
//! array of structures:  |0.......|1.......|2.......|3.......|…
//! tiles of 4:           |0123....|........|........|........|4567…
//! structure of arrays:  |01234567|89abcdef|…
//! ```
//!
//! **Prediction:** whatever is used of a sector, all of it moves. A kernel that reads one
//! field of eight and writes its result moves 32 + 4 bytes for each particle out of an
//! array of structures, and 4 + 4 out of a structure of arrays, which is therefore
//! 36/8 = 4.5 times as fast. A kernel that reads all eight moves the same either way, and
//! is equally fast. Tiles of 16 are enough: then 64 bytes of one field lie together,
//! which is what the L2 cache fetches.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::Arc;

use cudarc::driver::{
    CudaFunction, CudaModule, CudaSlice, CudaStream, LaunchConfig, PushKernelArg,
    sys::CUlimit,
};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "data-layout",
    source: include_str!("../../../../kernels/data-layout.cu"),
    ptx: include_str!("../../../../kernels/ptx/data-layout.ptx"),
};

const MOST_FIELDS: u32 = 16;
const SECTOR_BYTES: usize = 32;
const LINE_BYTES: usize = 128;
const WORD_BYTES: usize = 4;

fn main() -> ExitCode {
    let question =
        "In which order should the fields of many elements lie in memory?";
    lab::run("data-layout", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. So many elements that one field of each, read and written, is four times the L2
    //    cache. A GPU with too little memory for that gets fewer.
    let stream = lab.context().new_stream()?;
    let wanted =
        lab.l2_bytes().next_power_of_two() / if lab.quick() { 8 } else { 2 };
    let affordable = lab.free_bytes()? / 2 / WORD_BYTES / (MOST_FIELDS as usize + 1);
    let count = wanted.min((affordable + 1).next_power_of_two() / 2) as u32;
    let mut arrays = Arrays {
        elements: stream.alloc_zeros((count * MOST_FIELDS) as usize)?,
        sums: stream.alloc_zeros(count as usize)?,
        module: lab.module()?.clone(),
        stream: stream.clone(),
    };
    //    The L2 cache asks the memory for so many bytes when it misses.
    let fetch = lab.context().get_limit(CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY);
    let fetch_bytes = fetch.unwrap_or(0).max(SECTOR_BYTES);

    // 2. The layouts are tiles of 2^shift elements: of one, of some and of all.
    let layout =
        |shift, fields, used| Layout { count, shift, fields, used, suffix: "" };
    let whole = count.trailing_zeros();
    let named = [
        ("array_of_structures", 0),
        ("tiles_of_32", 5),
        ("structure_of_arrays", whole),
    ];

    // 3. A number of elements that no block and no tile divides: every field lies where
    //    the layout says, and every sum is right.
    for (shift, suffix) in [(0, ""), (0, "_vectors"), (3, ""), (whole.min(17), "")] {
        let count = count.min(100_003);
        let ragged = Layout { count, suffix, ..layout(shift, 8, 8) };
        arrays.launch(&arrays.kernel("write", &ragged)?, &ragged)?;
        let got = stream.clone_dtoh(&arrays.elements)?;
        let fields: Vec<u32> =
            (0..count * 8).map(|k| got[ragged.place(k / 8, k % 8)]).collect();
        let expected = |k: usize| pattern(k as u32 / 8, k as u32 % 8);
        check::every_element("fields", &fields, expected)?;
        arrays.launch(&arrays.kernel("read", &ragged)?, &ragged)?;
        arrays.check_sums(&ragged)?;
    }

    // 4. What to measure: some and all of eight fields, read and written; all tiles; and
    //    elements of other sizes.
    let mut cases = Vec::new();
    for (name, shift) in named {
        for (access, used) in [
            ("read", 1),
            ("read", 2),
            ("read", 4),
            ("read", 8),
            ("write", 1),
            ("write", 8),
        ] {
            let case = Case::new(access).with("layout", name);
            cases.push((case, access, layout(shift, 8, used)));
        }
        for (fields, used) in [(3, 1), (3, 3), (4, 1), (4, 4), (16, 1), (16, 16)] {
            let case = Case::new("read").with("layout", name);
            cases.push((case, "read", layout(shift, fields, used)));
        }
    }
    for access in ["read", "write"] {
        let case =
            Case::new(access).with("layout", "array_of_structures_as_vectors");
        let vectors = Layout { suffix: "_vectors", ..layout(0, 8, 8) };
        cases.push((case, access, vectors));
    }
    for shift in 0..=10 {
        let case = Case::new("tile").with("tile", 1usize << shift);
        cases.push((case, "read", layout(shift, 8, 1)));
    }

    for (case, access, layout) in cases {
        // 5. Time it. To be read, all fields are written first; to be written, all are
        //    cleared. After writing, a kernel that reads all fields gives the sums.
        let kernel = arrays.kernel(access, &layout)?;
        let all = Layout { used: layout.fields, suffix: "", ..layout };
        stream.memset_zeros(&mut arrays.sums)?;
        stream.memset_zeros(&mut arrays.elements)?;
        if access == "read" {
            let write = arrays.kernel("write", &all)?;
            arrays.launch(&write, &all)?;
        }
        let samples =
            lab.time_on_gpu(&stream, |_| arrays.launch(&kernel, &layout))?;
        if access == "write" {
            let read = arrays.kernel("read", &all)?;
            arrays.launch(&read, &all)?;
        }
        let checked = arrays.check_sums(&layout)?;

        // 6. Record what was asked for, and beside it what the model says.
        let field_bytes = count as usize * WORD_BYTES;
        let used_bytes = field_bytes * layout.used as usize;
        let loaded = layout.bytes_in_granules(fetch_bytes);
        let stored = layout.bytes_in_granules(SECTOR_BYTES);
        let whole_sectors = stored == used_bytes;
        let (asked, moved) = match access {
            "read" => ((used_bytes, field_bytes), (loaded, field_bytes)),
            _ if whole_sectors => ((0, used_bytes), (0, stored)),
            _ => ((0, used_bytes), (stored, stored)),
        };
        let mut case = case
            .with("fields", layout.fields as usize)
            .with("used", layout.used as usize)
            .reads(asked.0)
            .writes(asked.1)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(moved.0 + moved.1, lab.l2_bytes())
            .model(
                "sectors_per_request",
                layout.granules_of_warp(SECTOR_BYTES) as f64,
            )
            .model("lines_per_request", layout.granules_of_warp(LINE_BYTES) as f64)
            .model("dram_read_bytes", moved.0 as f64)
            .model("dram_write_bytes", moved.1 as f64)
            .checked(checked)
            .samples(samples);
        if let Some(peak) = lab.memory_peak() {
            let share = (asked.0 + asked.1) as f64 / (moved.0 + moved.1) as f64;
            case = case.model("bound_bytes_per_second", peak * share);
        }
        lab.record(case)?;
    }
    Ok(())
}

/// What field `f` of element `i` holds, as in the kernel.
fn pattern(i: u32, f: u32) -> u32 {
    (i.wrapping_mul(16) + f).wrapping_mul(2_654_435_761)
}

/// `count` elements of so many `fields`, of which the first few are `used`, in tiles of
/// 2^`shift` elements. The `suffix` names a variant of the kernel.
#[derive(Clone, Copy)]
struct Layout {
    count: u32,
    shift: u32,
    fields: u32,
    used: u32,
    suffix: &'static str,
}

impl Layout {
    // ANCHOR: model
    /// Where field `f` of element `i` lies, in words, as in the kernel.
    fn place(&self, i: u32, f: u32) -> usize {
        let (tile, rest) = (i >> self.shift, i & ((1 << self.shift) - 1));
        (((tile * self.fields + f) as usize) << self.shift) + rest as usize
    }

    /// The model: granules (sectors, say) that these elements touch with these fields.
    fn granules(&self, elements: u32, fields: u32, granule_bytes: usize) -> usize {
        let granule = |i, f| self.place(i, f) * WORD_BYTES / granule_bytes;
        let of_element = |i| (0..fields).map(move |f| granule(i, f));
        (0..elements).flat_map(of_element).collect::<BTreeSet<_>>().len()
    }

    /// Granules of one request: the 32 threads of a warp use one field of theirs.
    fn granules_of_warp(&self, granule_bytes: usize) -> usize {
        self.granules(32, 1, granule_bytes)
    }

    /// Bytes that the used fields occupy if memory comes in granules, counted over the
    /// first few thousand elements.
    fn bytes_in_granules(&self, granule_bytes: usize) -> usize {
        let some = self.count.min(1 << 12);
        let touched = self.granules(some, self.used, granule_bytes);
        touched * granule_bytes * (self.count / some) as usize
    }
    // ANCHOR_END: model
}

/// The elements, and for each the sum of the fields that were read.
struct Arrays {
    elements: CudaSlice<u32>,
    sums: CudaSlice<u32>,
    module: Arc<CudaModule>,
    stream: Arc<CudaStream>,
}

impl Arrays {
    fn kernel(&self, access: &str, layout: &Layout) -> Result<CudaFunction> {
        let name = format!("{access}{}{}", layout.used, layout.suffix);
        Ok(self.module.load_function(&name)?)
    }

    fn launch(&mut self, kernel: &CudaFunction, layout: &Layout) -> Result<()> {
        let config = LaunchConfig {
            grid_dim: (layout.count.div_ceil(256), 1, 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(kernel);
        launch
            .arg(&mut self.elements)
            .arg(&mut self.sums)
            .arg(&layout.count)
            .arg(&layout.fields)
            .arg(&layout.shift);
        // SAFETY: the kernel takes (elements, sums, count, fields, shift). `elements` has
        // room for the most fields in whole tiles, `sums` for `count` sums.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    /// Every sum must be that of the used fields.
    fn check_sums(&self, layout: &Layout) -> Result<u64> {
        let got =
            self.stream.clone_dtoh(&self.sums.slice(..layout.count as usize))?;
        check::every_element("sums", &got, |i| {
            (0..layout.used)
                .fold(0, |sum: u32, f| sum.wrapping_add(pattern(i as u32, f)))
        })
    }
}
