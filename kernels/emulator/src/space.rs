//! Where the windows of the memory spaces lie among all addresses. An address inside one
//! means that space; every other means global memory.

/// Where a window begins; each has as many bytes as [`WINDOW_BYTES`].
pub(crate) const SHARED_WINDOW: u64 = 0x0100_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x0200_0000;
pub(crate) const PARAMETER_WINDOW: u64 = 0x0300_0000;
const WINDOW_BYTES: u64 = 0x0100_0000;
/// Where functions seem to lie, as far apart as hardware's instructions: nothing else is there.
pub(crate) const FUNCTIONS: u64 = 0x0400_0000;
pub(crate) const FUNCTION_BYTES: u64 = 16;

/// A memory space, as an instruction names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Constant,
    Shared,
    Local,
    Parameter,
}

#[inline(always)]
pub(crate) fn is_shared(address: u64) -> bool {
    address.wrapping_sub(SHARED_WINDOW) < WINDOW_BYTES
}

#[inline(always)]
pub(crate) fn is_local(address: u64) -> bool {
    address.wrapping_sub(LOCAL_WINDOW) < WINDOW_BYTES
}

#[inline(always)]
pub(crate) fn is_parameter(address: u64) -> bool {
    address.wrapping_sub(PARAMETER_WINDOW) < WINDOW_BYTES
}

#[inline(always)]
pub(crate) fn is_global(address: u64) -> bool {
    !is_shared(address) && !is_local(address) && !is_parameter(address)
}

impl Space {
    /// The space that a generic address lies in, and its address there.
    pub(crate) fn of(address: u64) -> (Self, u64) {
        if is_shared(address) {
            (Self::Shared, address - SHARED_WINDOW)
        } else if is_local(address) {
            (Self::Local, address - LOCAL_WINDOW)
        } else if is_parameter(address) {
            (Self::Parameter, address - PARAMETER_WINDOW)
        } else {
            (Self::Global, address)
        }
    }
}
