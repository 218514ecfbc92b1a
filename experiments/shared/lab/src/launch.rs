//! Kernels as functions: declared once, compared with what the driver loaded, launched
//! by name.
//!
//! ```no_run
//! # use cudarc::driver::CudaSlice;
//! // SAFETY: threads at or past `count` do nothing; others use element i of both, which
//! // have at least that many.
//! lab::kernels! { unsafe "peer-copy" {
//!     fn copy4(from: &CudaSlice<u32>, to: &mut CudaSlice<u32>, count: usize);
//! } }
//! ```
//!
//! The declaration stands for `kernels/peer-copy.cu`. It makes a constant `KERNEL`, for
//! [`lab::run`](crate::run()), and a type `Kernels`: `Kernels::load(lab)?` looks the
//! functions up, and `kernels.copy4(&stream, threads(count), &from, &mut to, count)?`
//! queues a launch. Kernels of one signature can share a line,
//! `fn copy["copy4", "copy16"](…)`; then the name comes first when they are launched.
//!
//! The declaration is `unsafe`, as an `extern` block is: the compiler cannot know what a
//! kernel does with its arguments, so a comment above it says when a launch is sound.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use cudarc::driver::{
    CudaFunction, CudaModule, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr,
    LaunchConfig, sys,
};

/// Blocks of 256 threads, enough of them for `count` threads; at least one.
#[inline]
pub fn threads(count: usize) -> LaunchConfig {
    blocks(count.div_ceil(256).max(1), 256)
}

/// `count` blocks of `threads` threads each, in one dimension.
#[inline]
pub fn blocks(count: usize, threads: usize) -> LaunchConfig {
    LaunchConfig {
        grid_dim: (count as u32, 1, 1),
        block_dim: (threads as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}

/// Blocks of `block` threads in two dimensions (x, y), enough of them to cover `area`
/// elements in each.
#[inline]
pub fn tiles(area: (usize, usize), block: (usize, usize)) -> LaunchConfig {
    let count = |area: usize, block: usize| area.div_ceil(block).max(1) as u32;
    LaunchConfig {
        grid_dim: (count(area.0, block.0), count(area.1, block.1), 1),
        block_dim: (block.0 as u32, block.1 as u32, 1),
        shared_mem_bytes: 0,
    }
}

/// What Hopper's copy unit has to know of an array of 16-bit numbers: its sizes, the innermost
/// first and all closely packed, of which it copies `rows` rows of 64 numbers at once, whose 128
/// bytes are swizzled. What lies beyond is zero. An error if the array is shorter, or the unit
/// cannot take it: rows have to begin at multiples of 16 bytes.
pub fn tensor_map<const N: usize>(
    stream: &CudaStream,
    array: &CudaSlice<u16>,
    sizes: [usize; N],
    rows: u32,
) -> Result<[u64; 16]> {
    let count: usize = sizes.iter().product();
    ensure!(
        N >= 2 && count <= array.len(),
        "a map of {count} numbers, and there are {}",
        array.len()
    );
    let (mut strides, mut bytes) = (vec![], size_of::<u16>());
    for size in sizes {
        bytes *= size;
        strides.push(bytes as u64);
    }
    let mut boxes = [1; N];
    boxes[..2].copy_from_slice(&[64, rows]);
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: writes the map; the arrays have as many entries as there are dimensions, and of the
    // distances between neighbours the first is not given. The array holds what the map covers.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &raw mut map,
            sys::CUtensorMapDataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
            N as u32,
            array.device_ptr(stream).0 as *mut _,
            sizes.map(|size| size as u64).as_ptr(),
            strides.as_ptr(),
            boxes.as_ptr(),
            [1; N].as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            sys::CUtensorMapSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            sys::CUtensorMapL2promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()?;
    Ok(map.opaque)
}

/// What a kernel can be given: device memory by reference, numbers by value.
pub trait Argument {
    /// What the kernel gets: an address, or the number.
    type Raw;
    /// The value to pass. Memory stays borrowed only until the launch is queued: the
    /// lesson orders what comes after in its streams.
    fn raw(self, stream: &CudaStream) -> Self::Raw;
}

macro_rules! memory {
    ($($type:ty),*) => {$(
        impl<T> Argument for $type {
            type Raw = sys::CUdeviceptr;
            #[inline]
            fn raw(self, stream: &CudaStream) -> Self::Raw {
                self.device_ptr(stream).0
            }
        }
    )*};
}
memory!(&CudaSlice<T>, &mut CudaSlice<T>, &CudaView<'_, T>, &mut CudaViewMut<'_, T>);

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Argument for $type {
            type Raw = $type;
            #[inline]
            fn raw(self, _: &CudaStream) -> Self::Raw {
                self
            }
        }
    )*};
}
// An address is a number of 64 bits, too; a list of 4 or 8 is a structure; a tensor map has 16.
numbers!(u8, u32, i32, u64, i64, usize, f32, f64, [u32; 4], [u64; 8], [u64; 16]);

/// A function of a module, whose parameters must have these sizes in bytes.
fn function(module: &Arc<CudaModule>, name: &str, sizes: &[usize]) -> Result<CudaFunction> {
    let function = module
        .load_function(name)
        .with_context(|| format!("there is no kernel `{name}` in the module"))?;
    for place in 0..=sizes.len() {
        let (mut offset, mut taken) = (0, 0);
        // SAFETY: the function is loaded; the driver writes two numbers, or fails past
        // the last parameter.
        let found = unsafe {
            sys::cuFuncGetParamInfo(function.cu_function(), place, &raw mut offset, &raw mut taken)
        };
        let taken = found.result().ok().map(|()| taken);
        let size = |size: Option<usize>| match size {
            Some(bytes) => format!("has {bytes} bytes"),
            None => "is not there".to_owned(),
        };
        let declared = sizes.get(place).copied();
        if declared != taken {
            bail!(
                "kernel `{name}`: argument {place} {} in the declaration, and {} in the \
                 kernel",
                size(declared),
                size(taken)
            );
        }
    }
    Ok(function)
}

/// The functions of a declaration, each with its name: those after the first name, if it has any.
pub fn functions(
    module: &Arc<CudaModule>,
    names: &[&'static str],
    sizes: &[usize],
) -> Result<Vec<(&'static str, CudaFunction)>> {
    let names = if names.len() > 1 { &names[1..] } else { names };
    names.iter().map(|name| Ok((*name, function(module, name, sizes)?))).collect()
}

/// Shared memory that a block may ask for at its launch without being allowed to first.
const SHARED_BYTES: u32 = 48 << 10;

/// Allows the launches of `function` the shared memory that `config` asks for, if that is
/// more than any kernel may.
#[inline]
pub fn allow_shared(function: &CudaFunction, config: &LaunchConfig) -> Result<()> {
    let bytes = config.shared_mem_bytes;
    if bytes > SHARED_BYTES {
        use sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let most = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        function
            .set_attribute(most, bytes as i32)
            .with_context(|| format!("a block cannot have {bytes} bytes of shared memory"))?;
    }
    Ok(())
}

/// Declares the kernels of one `kernels/<name>.cu`; see the [module](crate::launch).
#[macro_export]
macro_rules! kernels {
    (unsafe $file:literal { $(
        $(#[$doc:meta])*
        fn $function:ident $([$($name:literal),+ $(,)?])? (
            $($argument:ident: $type:ty),* $(,)?
        );
    )* }) => {
        /// The kernels' source and PTX.
        pub(crate) const KERNEL: $crate::Kernel = $crate::Kernel {
            name: $file,
            source: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../../../kernels/", $file, ".cu"
            )),
            ptx: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"), "/../../../kernels/ptx/", $file, ".ptx"
            )),
        };

        #[derive(Clone)]
        #[allow(dead_code)] // not every lesson looks its functions up in both ways
        pub(crate) struct Kernels {
            $($function: Vec<(&'static str, cudarc::driver::CudaFunction)>,)*
        }

        #[allow(dead_code)]
        impl Kernels {
            /// The kernels of the experiment's module.
            pub(crate) fn load(lab: &$crate::Lab) -> $crate::Result<Kernels> {
                Kernels::of(lab.module()?)
            }

            /// The kernels of another module made from the same file.
            pub(crate) fn of(
                module: &std::sync::Arc<cudarc::driver::CudaModule>,
            ) -> $crate::Result<Kernels> {
                Ok(Kernels { $($function: $crate::launch::functions(
                    module,
                    &[stringify!($function) $(, $($name),+)?],
                    &[$(size_of::<<$type as $crate::launch::Argument>::Raw>()),*],
                )?,)* })
            }

            $($crate::kernels! {
                @launch $(#[$doc])* $function [$($($name),+)?] ($($argument: $type),*)
            })*
        }
    };
    (@launch $(#[$doc:meta])* $function:ident [] ($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        pub(crate) fn $function(
            &self,
            stream: &std::sync::Arc<cudarc::driver::CudaStream>,
            config: cudarc::driver::LaunchConfig,
            $($argument: $type),*
        ) -> $crate::Result<()> {
            let function = &self.$function[0].1;
            $crate::kernels!(@queue function, stream, config, $($argument),*)
        }
    };
    (@launch $(#[$doc:meta])* $function:ident [$($name:literal),+]
        ($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        #[allow(clippy::too_many_arguments)]
        pub(crate) fn $function(
            &self,
            name: &str,
            stream: &std::sync::Arc<cudarc::driver::CudaStream>,
            config: cudarc::driver::LaunchConfig,
            $($argument: $type),*
        ) -> $crate::Result<()> {
            let (_, function) = self.$function.iter().find(|(n, _)| *n == name)
                .unwrap_or_else(|| panic!("no kernel `{name}` is declared"));
            $crate::kernels!(@queue function, stream, config, $($argument),*)
        }
    };
    (@queue $function:ident, $stream:ident, $config:ident, $($argument:ident),*) => {{
        use cudarc::driver::PushKernelArg as _;
        $crate::launch::allow_shared($function, &$config)?;
        $(let $argument = $crate::launch::Argument::raw($argument, $stream);)*
        let mut launch = $stream.launch_builder($function);
        $(launch.arg(&$argument);)*
        // SAFETY: number and sizes of the arguments are the kernel's, which was checked
        // when it was loaded; the rest is what the declaration's author vouches for.
        unsafe { launch.launch($config) }?;
        Ok(())
    }};
}
