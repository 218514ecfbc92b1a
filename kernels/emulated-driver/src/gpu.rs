//! The emulated GPU: small, so that what lessons derive from its size is small, too.
//!
//! It has no clocks and no peak bandwidth, because it has no time: they are 0, which
//! means that the machine does not tell.

use std::sync::LazyLock;

use cudarc::driver::sys::CUdevice_attribute_enum::{self as A, *};

use crate::settings;

/// Environment variable: how many emulated GPUs there are.
const GPUS: &str = "WORKBOOK_EMULATED_GPUS";
/// How many there are if it says nothing.
const USUAL_GPUS: usize = if cfg!(for_tests) { 1 } else { 2 };
/// What machines have at most.
const MOST_GPUS: usize = 16;
/// Environment variable: which of them the program may see, as for NVIDIA's driver.
const VISIBLE: &str = "CUDA_VISIBLE_DEVICES";
/// Environment variable: to how many others' memory a context may have access. With
/// `none` the GPUs say that they cannot; without it, to all.
const PEERS: &str = "WORKBOOK_EMULATED_PEERS";

/// Environment variable: the compute capability whose limits it has.
const GPU: &str = "WORKBOOK_EMULATED_GPU";

/// What depends on the compute capability.
pub(crate) struct Model {
    pub(crate) compute: (u32, u32),
    /// Threads and blocks that a multiprocessor holds, and its shared memory.
    pub(crate) threads: u32,
    pub(crate) blocks: u32,
    pub(crate) shared_bytes: u32,
    /// Shared memory of a block whose function asked for more.
    pub(crate) block_shared_bytes: u32,
    /// Shared memory of each block that the system takes.
    pub(crate) reserved_bytes: u32,
}

/// Small, and of the newest compute capability without clusters and the copies of tensors, which
/// are not emulated.
const SMALL: Model = model((8, 9), 1024, 16, 100, 99, 1);
/// Those with the limits of real GPUs.
const MODELS: [Model; 4] = [
    model((7, 5), 1024, 16, 64, 64, 0),
    model((8, 6), 1536, 16, 100, 99, 1),
    model((8, 9), 1536, 24, 100, 99, 1),
    model((9, 0), 2048, 32, 228, 227, 1),
];

const fn model(
    compute: (u32, u32),
    threads: u32,
    blocks: u32,
    shared_kib: u32,
    block_kib: u32,
    reserved_kib: u32,
) -> Model {
    let [shared_bytes, block_shared_bytes, reserved_bytes] =
        [shared_kib << 10, block_kib << 10, reserved_kib << 10];
    Model { compute, threads, blocks, shared_bytes, block_shared_bytes, reserved_bytes }
}

/// The model that the environment asks for.
pub(crate) fn current() -> &'static Model {
    static CHOSEN: LazyLock<Option<&Model>> = LazyLock::new(|| {
        let asked = std::env::var(GPU).ok()?;
        let is_asked = |model: &&Model| format!("{}.{}", model.compute.0, model.compute.1) == asked;
        MODELS.iter().find(is_asked)
    });
    CHOSEN.unwrap_or(&SMALL)
}

/// Environment variable: memory of each, in MiB.
const MEMORY: &str = "WORKBOOK_EMULATED_MEMORY";

pub(crate) const NAME: &str = if cfg!(for_tests) { "NVIDIA Test GPU" } else { "Emulated GPU" };
/// CUDA version that this driver has a part of.
pub(crate) const CUDA_VERSION: i32 = 12_080;
/// Memory that one may have at most, in MiB.
const MOST_MIB: usize = 1 << 20;
/// Memory of each, unless somebody sets it.
pub(crate) const MEMORY_BYTES: usize = if cfg!(for_tests) { 32 << 20 } else { 64 << 20 };
/// Multiprocessors, and what one of them holds.
pub(crate) const MULTIPROCESSORS: u32 = 8;
pub(crate) const REGISTERS: u32 = 65_536;
/// What one block may have.
pub(crate) const BLOCK_THREADS: u32 = 1024;
pub(crate) const BLOCK_SHARED_BYTES: u32 = 48 << 10;
/// Largest block and grid in each dimension.
pub(crate) const BLOCK: [u32; 3] = [1024, 1024, 64];
pub(crate) const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Priorities of streams: from the least to the greatest.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);
const L2_BYTES: u32 = 64 << 10;
const CONSTANT_BYTES: u32 = 64 << 10;
const COPY_ENGINES: u32 = 2;
const BUS_BITS: u32 = if cfg!(for_tests) { 512 } else { 0 };
/// A PCI domain in which Linux has no device, so that nothing real is described.
const PCI_DOMAIN: u32 = 0xffff;

const ATTRIBUTES: [(A, u32); 39] = [
    (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, BLOCK_THREADS),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, BLOCK[0]),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, BLOCK[1]),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, BLOCK[2]),
    (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, GRID[0]),
    (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, GRID[1]),
    (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, GRID[2]),
    (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, BLOCK_SHARED_BYTES),
    (CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, CONSTANT_BYTES),
    (CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
    (CU_DEVICE_ATTRIBUTE_MAX_PITCH, i32::MAX as u32),
    (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512),
    (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, REGISTERS),
    (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, REGISTERS),
    (CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, MULTIPROCESSORS),
    (CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, L2_BYTES),
    (CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 0),
    (CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, BUS_BITS),
    (CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, COPY_ENGINES),
    (CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1),
    (CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1),
    (CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1),
    (CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1),
    (CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1),
    (CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1),
    (CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1),
    (CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1),
    (CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1),
    (CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0),
    (CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1),
    (CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1),
    (CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1),
    (CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0),
    (CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 0),
    (CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 0),
    (CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 0),
    (CU_DEVICE_ATTRIBUTE_INTEGRATED, 0),
    (CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, PCI_DOMAIN),
    (CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0x1f),
];

/// The GPUs that this process sees, by their numbers among all, in its order.
pub(crate) fn visible() -> Vec<usize> {
    let asked = std::env::var(GPUS).ok().and_then(|text| text.parse().ok());
    let count = asked.unwrap_or(USUAL_GPUS).min(MOST_GPUS);
    match std::env::var(VISIBLE) {
        Ok(list) => chosen(&list, count),
        Err(_) => (0..count).collect(),
    }
}

pub(crate) fn memory_bytes() -> usize {
    static BYTES: LazyLock<usize> = LazyLock::new(|| {
        let asked = std::env::var(MEMORY).ok().and_then(|mib| mib.parse().ok());
        let asked = asked.map(|mib: usize| mib.clamp(1, MOST_MIB) << 20);
        settings::memory_bytes().or(asked).unwrap_or(MEMORY_BYTES)
    });
    *BYTES
}

/// Numbers up to the first that no GPU has, or that was there before. (NVIDIA's driver
/// knows other names for its GPUs, too.)
fn chosen(list: &str, count: usize) -> Vec<usize> {
    let mut gpus = vec![];
    for entry in list.split(',') {
        match entry.trim().parse() {
            Ok(gpu) if gpu < count && !gpus.contains(&gpu) => gpus.push(gpu),
            _ => break,
        }
    }
    gpus
}

/// Whether GPUs can have access to each other's memory.
pub(crate) fn can_access_peers() -> bool {
    std::env::var(PEERS).map_or(true, |text| text != "none")
}

/// How many peers a context may have.
pub(crate) fn most_peers() -> usize {
    let asked = std::env::var(PEERS).ok().and_then(|text| text.parse().ok());
    asked.unwrap_or(usize::MAX)
}

/// The value of a device attribute. `None`: no attribute has this number. One that is not
/// listed stands for something that this GPU does not have.
pub(crate) fn attribute(gpu: usize, number: i32) -> Option<i32> {
    if number == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID as i32 {
        return Some(gpu as i32);
    }
    if number == CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE as i32 {
        return Some(settings::peaks()[0] as i32);
    }
    let model = current();
    let of_model = [
        (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, model.compute.0),
        (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, model.compute.1),
        (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, model.threads),
        (CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, model.blocks),
        (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, model.shared_bytes),
        (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, model.block_shared_bytes),
        (CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, model.reserved_bytes),
    ];
    let listed = ATTRIBUTES.iter().chain(&of_model).find(|(name, _)| *name as i32 == number);
    let known = (1..CU_DEVICE_ATTRIBUTE_MAX as i32).contains(&number);
    listed.map(|(_, value)| *value as i32).or(known.then_some(0))
}

pub(crate) fn pci_address(gpu: usize) -> String {
    format!("{PCI_DOMAIN:04x}:{gpu:02x}:1f.7")
}

#[cfg(test)]
mod tests {
    use super::chosen;

    #[test]
    fn what_is_visible_ends_at_the_first_wrong_number() {
        for (list, seen) in [
            ("", &[][..]),
            ("-1", &[]),
            ("0", &[0]),
            ("1, 0", &[1, 0]),
            ("1,7,0", &[1]),
            ("1,1", &[1]),
        ] {
            assert_eq!(chosen(list, 2), seen, "{list}");
        }
    }
}
