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
pub(crate) const THREADS: u32 = 1024;
pub(crate) const BLOCKS: u32 = 16;
pub(crate) const REGISTERS: u32 = 65_536;
pub(crate) const SHARED_BYTES: u32 = 64 << 10;
/// What one block may have.
pub(crate) const BLOCK_THREADS: u32 = 1024;
pub(crate) const BLOCK_SHARED_BYTES: u32 = 48 << 10;
/// Shared memory of a block whose function asked for more.
pub(crate) const BLOCK_SHARED_BYTES_OPT_IN: u32 = 64 << 10;
/// Largest block and grid in each dimension.
pub(crate) const BLOCK: [u32; 3] = [1024, 1024, 64];
pub(crate) const GRID: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Compute capability: the newest without clusters and the copies of tensors, which are not
/// emulated.
pub(crate) const COMPUTE: (u32, u32) = (8, 9);
/// Priorities of streams: from the least to the greatest.
pub(crate) const PRIORITIES: (i32, i32) = (0, -5);
const L2_BYTES: u32 = 64 << 10;
const CONSTANT_BYTES: u32 = 64 << 10;
const COPY_ENGINES: u32 = 2;
const BUS_BITS: u32 = if cfg!(for_tests) { 512 } else { 0 };
/// A PCI domain in which Linux has no device, so that nothing real is described.
const PCI_DOMAIN: u32 = 0xffff;

const ATTRIBUTES: [(A, u32); 46] = [
    (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, BLOCK_THREADS),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, BLOCK[0]),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, BLOCK[1]),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, BLOCK[2]),
    (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, GRID[0]),
    (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, GRID[1]),
    (CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, GRID[2]),
    (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, BLOCK_SHARED_BYTES),
    (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, BLOCK_SHARED_BYTES_OPT_IN),
    (CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, SHARED_BYTES),
    (CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 0),
    (CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, CONSTANT_BYTES),
    (CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32),
    (CU_DEVICE_ATTRIBUTE_MAX_PITCH, i32::MAX as u32),
    (CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512),
    (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, REGISTERS),
    (CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, REGISTERS),
    (CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, THREADS),
    (CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, BLOCKS),
    (CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, MULTIPROCESSORS),
    (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, COMPUTE.0),
    (CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, COMPUTE.1),
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
    let listed = ATTRIBUTES.iter().find(|(name, _)| *name as i32 == number);
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
