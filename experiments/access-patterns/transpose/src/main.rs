//! # How fast can a matrix be turned on its side?
//!
//! A transpose computes nothing: it reads every element once and writes it once, as a
//! copy does. So a copy is its ceiling. But rows become columns, so of the two accesses
//! one runs along memory and the other jumps by a whole row. A ladder, each rung for one
//! reason:
//!
//! ```text
//! read_coalesced    reads rows (4 sectors a request), writes columns (32)
//! write_coalesced   reads columns (32), writes rows (4)
//! tile              reads rows into shared memory, writes rows out of it (4 and 4)
//! tile_padded       the same, without 32 threads waiting for one bank
//! several           four elements for each thread: more bytes in flight
//! swizzled          the same without the padding, which breaks the alignment of vectors
//! vectors           16 bytes in each access, tiles of 64 × 64
//! downwards         the same, but neighbouring blocks write neighbouring addresses
//! any_shape         for rows that do not begin at multiples of 16 bytes
//! bulk              the copy unit of newer GPUs moves whole tiles
//! in_place          without a second matrix
//! ```
//!
//! **Prediction:** a jumping access moves 32 bytes for each 4 that are used. If nothing
//! helped, a naive transpose would move (4 + 32) bytes an element where the copy moves
//! 8, and reach 8/36 = 22 % of the copy. The padded tile reaches the copy, and leaves
//! nothing to the rungs above it.

use std::process::ExitCode;
use std::sync::Arc;

use cudarc::cublas::{self, CudaBlas, sys::cublasOperation_t};
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, LaunchConfig,
    PushKernelArg, sys,
};
use lab::libraries::{self, CUBLAS, NVRTC};
use lab::{Case, Ceiling, Kernel, Lab, Result, check};

const KERNEL: Kernel = Kernel {
    name: "transpose",
    source: include_str!("../../../../kernels/transpose.cu"),
    ptx: include_str!("../../../../kernels/ptx/transpose.ptx"),
};

/// For GPUs with bulk tensor copies.
const BULK_KERNEL: Kernel = Kernel {
    name: "transpose-bulk",
    source: include_str!("../../../../kernels/transpose-bulk.cu"),
    ptx: include_str!("../../../../kernels/ptx/transpose-bulk.ptx"),
};

/// Sides of the square matrices. The chapter has the first; the others are there
/// because a GPU's L2 cache may hold much of it.
const SIDES: [usize; 3] = [4096, 8192, 16384];
/// Width and height of matrices that are not square; the last is for no vectors.
const RECTANGLES: [(usize, usize); 3] = [(2048, 8192), (8192, 2048), (8193, 8191)];
/// What is timed on those.
const ON_RECTANGLES: [&str; 4] = ["downwards", "any_shape", "bulk", "cublas"];

/// How a kernel divides a matrix among its blocks.
#[derive(Clone, Copy)]
struct Blocks {
    /// Width and height of a tile.
    tile: (u32, u32),
    threads: (u32, u32),
    /// Whether neighbouring blocks take tiles below each other, not beside each other.
    down: bool,
}

const SIMPLE: Blocks = Blocks { tile: (32, 32), threads: (32, 32), down: false };
const SEVERAL: Blocks = Blocks { threads: (32, 8), ..SIMPLE };
/// SIDE in the kernel file; a thread moves 4 × 4 elements.
const SIDE: u32 = 64;
const VECTORS: Blocks =
    Blocks { tile: (SIDE, SIDE), threads: (SIDE * SIDE / 16, 1), down: false };
const DOWNWARDS: Blocks = Blocks { down: true, ..VECTORS };
const KERNELS: [(&str, Blocks); 9] = [
    ("read_coalesced", SIMPLE),
    ("write_coalesced", SIMPLE),
    ("tile", SIMPLE),
    ("tile_padded", SIMPLE),
    ("several", SEVERAL),
    ("swizzled", SEVERAL),
    ("vectors", VECTORS),
    ("downwards", DOWNWARDS),
    ("any_shape", Blocks { tile: (32, 64), threads: (32, 8), down: true }),
];

fn main() -> ExitCode {
    libraries::expose(&[NVRTC, CUBLAS]);
    let question = "How fast can a matrix be turned on its side?";
    lab::run("transpose", question, Some(KERNEL), experiment)
}

fn experiment(lab: &mut Lab) -> Result<()> {
    // 1. Stream, kernels and, where they are to be had, bulk copies and cuBLAS.
    let stream = lab.context().new_stream()?;
    let idle = lab.module()?.load_function("idle")?;
    let in_place = lab.module()?.load_function("in_place")?;
    let mut ways = Vec::new();
    for (name, blocks) in KERNELS {
        let function = lab.module()?.load_function(name)?;
        ways.push((name, Way::Kernel(function, blocks)));
    }
    match lab.load(BULK_KERNEL)? {
        Some(module) => {
            ways.push(("bulk", Way::Bulk(module.load_function("bulk")?)))
        }
        None => lab.skip(
            Case::new("bulk"),
            "bulk tensor copies need a GPU of compute capability 9.0",
        ),
    }
    match find_cublas(&stream) {
        Ok(library) => ways.push(("cublas", Way::Library(library))),
        Err(why) => lab.skip(Case::new("cublas"), why),
    }

    // 2. Shapes that no tile divides, the first of them not even by vectors.
    for (width, height) in [(777, 1001), (780, 1000), (1000, 1000)] {
        let ragged = Shape { width, height };
        let input = stream.clone_htod(&ragged.input())?;
        let mut check = Check::new(&ragged);
        for (name, way) in ways.iter().filter(|(_, way)| way.takes(&ragged)) {
            let mut output = stream.alloc_zeros::<u32>(ragged.elements())?;
            way.transpose(&stream, &ragged, &input, &mut output)?;
            check.output(&stream, &output, name)?;
        }
        if ragged.is_square() {
            let mut matrix = input;
            ragged.transpose_in_place(&stream, &in_place, &mut matrix)?;
            check.output(&stream, &matrix, "in_place")?;
        }
    }

    // 3. The square matrices, then the others. A GPU with too little memory for the first
    //    one gets a smaller one.
    let affordable = (lab.free_bytes()? / 10 * 9 / 2 / size_of::<u32>()).isqrt();
    let first = SIDES[0].min((affordable + 1).next_power_of_two() / 2);
    let squares = [first, SIDES[1], SIDES[2]].map(|side| (side, side));
    for (width, height) in squares.into_iter().chain(RECTANGLES) {
        let shape = Shape { width, height };
        if lab.quick() && shape.elements() > SIDES[0] * SIDES[0] {
            continue;
        }

        // 4. Each turn takes the next of several pairs of buffers, so that the turns of
        //    one sample touch at least four times the L2 cache and no transpose finds
        //    its data there from the turn before.
        let bytes = shape.elements() * size_of::<u32>();
        let pairs = (4 * lab.l2_bytes()).div_ceil(2 * bytes);
        let needed = pairs * 2 * bytes;
        if needed > lab.free_bytes()? / 10 * 9 {
            let reason = format!("needs {} MiB of free device memory", needed >> 20);
            lab.skip(shape.case("all"), reason);
            continue;
        }
        let host = shape.input();
        let mut check = Check::new(&shape);
        let mut inputs = (0..pairs)
            .map(|_| stream.clone_htod(&host))
            .collect::<Result<Vec<_>, _>>()?;
        let new_output = |_| stream.alloc_zeros::<u32>(shape.elements());
        let mut outputs =
            (0..pairs).map(new_output).collect::<Result<Vec<_>, _>>()?;

        let l2_bytes = lab.l2_bytes();
        let case = |name: &str| {
            shape
                .case(name)
                .reads(bytes)
                .writes(bytes)
                .ceiling(Ceiling::DeviceMemory)
                .footprint(needed, l2_bytes)
        };

        // 5. The ceiling: the driver's own copy of the same bytes.
        let samples = lab.time_on_gpu(&stream, |turn| {
            Ok(stream
                .memcpy_dtod(&inputs[turn % pairs], &mut outputs[turn % pairs])?)
        })?;
        let mut checked = 0;
        for output in &outputs {
            let got = stream.clone_dtoh(output)?;
            checked += check::every_element("driver_copy", &got, |i| host[i])?;
        }
        let copied = case("driver_copy").checked(checked).samples(samples);
        lab.record(copied)?;

        // 6. The transposes, each against cleared outputs and checked in every one.
        //    The call before is for libraries that load a shape's kernel when they need it.
        for (name, way) in &ways {
            let wanted = shape.is_square() || ON_RECTANGLES.contains(name);
            if !wanted || !way.takes(&shape) {
                continue;
            }
            way.transpose(&stream, &shape, &inputs[0], &mut outputs[0])?;
            for output in &mut outputs {
                stream.memset_zeros(output)?;
            }
            let samples = lab.time_on_gpu(&stream, |turn| {
                let (input, output) =
                    (&inputs[turn % pairs], &mut outputs[turn % pairs]);
                way.transpose(&stream, &shape, input, output)
            })?;
            let mut checked = 0;
            for output in &outputs {
                checked += check.output(&stream, output, name)?;
            }
            let transposed = case(name).checked(checked).samples(samples);
            lab.record(transposed)?;
        }
        if !shape.is_square() {
            continue;
        }

        // 7. Starting the threads of the simple kernels: one that does nothing.
        let nothing = Way::Kernel(idle.clone(), SIMPLE);
        let samples = lab.time_on_gpu(&stream, |turn| {
            let (input, output) =
                (&inputs[turn % pairs], &mut outputs[turn % pairs]);
            nothing.transpose(&stream, &shape, input, output)
        })?;
        lab.record(shape.case("idle").samples(samples))?;

        // 8. In place, on all the buffers. Two transposes are none, so a buffer that was
        //    turned an even number of times is turned once more before it is compared.
        for output in &mut outputs {
            stream.memcpy_htod(&host, output)?;
        }
        inputs.append(&mut outputs);
        let mut turns = vec![0; inputs.len()];
        let samples = lab.time_on_gpu(&stream, |turn| {
            let next = turn % inputs.len();
            turns[next] += 1;
            shape.transpose_in_place(&stream, &in_place, &mut inputs[next])
        })?;
        let mut checked = 0;
        for (matrix, turns) in inputs.iter_mut().zip(&turns) {
            if turns % 2 == 0 {
                shape.transpose_in_place(&stream, &in_place, matrix)?;
            }
            checked += check.output(&stream, matrix, "in_place")?;
        }
        lab.record(case("in_place").checked(checked).samples(samples))?;
    }
    Ok(())
}

/// cuBLAS, or why not.
fn find_cublas(stream: &Arc<CudaStream>) -> Result<CudaBlas, String> {
    // SAFETY: opens the library if there is one; it has no other effect.
    if !unsafe { cublas::sys::is_culib_present() } {
        return Err(format!("cuBLAS was not found; install it: {}", CUBLAS.install));
    }
    CudaBlas::new(stream.clone()).map_err(|e| format!("cuBLAS does not start: {e}"))
}

/// One way to transpose.
enum Way {
    /// A kernel that takes (in, out, width, height).
    Kernel(CudaFunction, Blocks),
    /// The kernel that takes two tensor maps.
    Bulk(CudaFunction),
    /// cuBLAS.
    Library(CudaBlas),
}

impl Way {
    /// Vectors of four and bulk copies need rows that begin at multiples of 16 bytes.
    fn takes(&self, shape: &Shape) -> bool {
        match self {
            Way::Kernel(_, Blocks { threads: (_, 1), .. }) | Way::Bulk(_) => {
                [shape.width, shape.height].iter().all(|n| n.is_multiple_of(4))
            }
            Way::Kernel(..) | Way::Library(_) => true,
        }
    }

    fn transpose(
        &self,
        stream: &Arc<CudaStream>,
        shape: &Shape,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        match self {
            Way::Kernel(function, blocks) => {
                shape.launch(stream, function, *blocks, input, output)
            }
            Way::Bulk(function) => {
                shape.launch_bulk(stream, function, input, output)
            }
            Way::Library(library) => {
                shape.call_cublas(stream, library, input, output)
            }
        }
    }
}

/// A matrix of `height` rows of `width` elements.
struct Shape {
    width: usize,
    height: usize,
}

impl Shape {
    fn elements(&self) -> usize {
        self.width * self.height
    }

    fn is_square(&self) -> bool {
        self.width == self.height
    }

    fn case(&self, name: &str) -> Case {
        if self.is_square() {
            return Case::new(name).with("side", self.width);
        }
        let case = Case::new("rectangle").with("kind", name);
        case.with("width", self.width).with("height", self.height)
    }

    /// Element i holds i times an odd constant modulo 2²⁸, all different up to 16384², so
    /// that an element in a wrong place shows; and above a number that makes it a normal
    /// float and never zero, because cuBLAS multiplies by one, which keeps no other bits.
    fn value(i: usize) -> u32 {
        0x2000_0000 + ((i as u32).wrapping_mul(2_654_435_761) & 0x0fff_ffff)
    }

    fn input(&self) -> Vec<u32> {
        (0..self.elements()).map(Self::value).collect()
    }

    // ANCHOR: launch
    fn launch(
        &self,
        stream: &Arc<CudaStream>,
        function: &CudaFunction,
        blocks: Blocks,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let (width, height) = (self.width as u32, self.height as u32);
        let (across, down) =
            (width.div_ceil(blocks.tile.0), height.div_ceil(blocks.tile.1));
        let grid = if blocks.down { (down, across, 1) } else { (across, down, 1) };
        let config = LaunchConfig {
            grid_dim: grid, // blocks are started in the order of the first number
            block_dim: (blocks.threads.0, blocks.threads.1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(function);
        launch.arg(input).arg(output).arg(&width).arg(&height);
        // SAFETY: the kernel takes (in, out, width, height) and stays within both
        // buffers, which hold width * height elements each.
        unsafe { launch.launch(config) }?;
        Ok(())
    }
    // ANCHOR_END: launch

    fn transpose_in_place(
        &self,
        stream: &Arc<CudaStream>,
        function: &CudaFunction,
        matrix: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let side = self.width as u32;
        let tiles = side.div_ceil(SIDE);
        let config = LaunchConfig {
            grid_dim: (tiles / 2 + 1, tiles, 1),
            block_dim: (VECTORS.threads.0, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(function);
        launch.arg(matrix).arg(&side);
        // SAFETY: the kernel takes (matrix, side) and stays within side * side elements.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    fn launch_bulk(
        &self,
        stream: &Arc<CudaStream>,
        function: &CudaFunction,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let (from, _reading) = input.device_ptr(stream);
        let (to, _writing) = output.device_ptr_mut(stream);
        let from = tensor_map(from, self.width, self.height)?;
        let to = tensor_map(to, self.height, self.width)?;
        let (width, height) = (self.width as u32, self.height as u32);
        let config = LaunchConfig {
            grid_dim: (height.div_ceil(64), width.div_ceil(64), 1),
            block_dim: (256, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = stream.launch_builder(function);
        launch.arg(&from).arg(&to);
        // SAFETY: the kernel takes two tensor maps by value, and the copy unit stays
        // within the matrices that they describe.
        unsafe { launch.launch(config) }?;
        Ok(())
    }

    // ANCHOR: cublas
    /// cuBLAS counts columns first, so our rows are its columns. It adds two matrices,
    /// either of them transposed: 1 · inputᵀ + 0 · nothing.
    fn call_cublas(
        &self,
        stream: &Arc<CudaStream>,
        library: &CudaBlas,
        input: &CudaSlice<u32>,
        output: &mut CudaSlice<u32>,
    ) -> Result<()> {
        let (from, _reading) = input.device_ptr(stream);
        let (to, _writing) = output.device_ptr_mut(stream);
        let (width, height) = (self.width as i32, self.height as i32);
        // SAFETY: both matrices have width * height elements, of the size of a float; a
        // factor of zero means that the second matrix is not read.
        unsafe {
            cublas::sys::cublasSgeam(
                *library.handle(),
                cublasOperation_t::CUBLAS_OP_T,
                cublasOperation_t::CUBLAS_OP_N,
                height,
                width,
                &1.0,
                from as *const f32,
                width,
                &0.0,
                std::ptr::null(),
                height,
                to as *mut f32,
                height,
            )
        }
        .result()?;
        Ok(())
    }
    // ANCHOR_END: cublas
}

/// The right result of a shape, against which its outputs are compared.
struct Check {
    expected: Vec<u32>,
    got: Vec<u32>,
}

impl Check {
    /// Row x, column y of the output must be row y, column x of the input.
    fn new(shape: &Shape) -> Check {
        let mut expected = Vec::with_capacity(shape.elements());
        for x in 0..shape.width {
            expected.extend(
                (0..shape.height).map(|y| Shape::value(y * shape.width + x)),
            );
        }
        Check { got: vec![0; expected.len()], expected }
    }

    /// Compares every element of `output`; returns how many there are.
    fn output(
        &mut self,
        stream: &Arc<CudaStream>,
        output: &CudaSlice<u32>,
        what: &str,
    ) -> Result<u64> {
        stream.memcpy_dtoh(output, &mut self.got)?;
        stream.synchronize()?;
        check::every_element(what, &self.got, |i| self.expected[i])
    }
}

// ANCHOR: tensor_map
/// What the copy unit has to know of a matrix: where it is, its shape, and that it is
/// moved in pieces of 32 × 64 elements, whose rows of 128 bytes are swizzled.
fn tensor_map(
    address: sys::CUdeviceptr,
    width: usize,
    height: usize,
) -> Result<[u64; 16]> {
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: writes the map; the arrays have as many entries as there are dimensions,
    // and of the distances between neighbours the first is not given.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
            2,
            address as *mut _,
            [width as u64, height as u64].as_ptr(),
            [width as u64 * 4].as_ptr(),
            [32, 64].as_ptr(),
            [1, 1].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()?;
    Ok(map.opaque)
}
// ANCHOR_END: tensor_map
