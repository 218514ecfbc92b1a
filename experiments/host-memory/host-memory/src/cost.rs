//! What pinning costs: to get each kind of memory, and to give it back.

use lab::{Case, Lab, Result};

use crate::memory::{HostMemory, Kind};

/// Registering starts from a Vec that is already there; the others start from nothing.
/// A small block of pageable memory would cost nothing: the allocator keeps it, pages and
/// all, instead of asking the system each time.
pub(crate) fn measure(lab: &mut Lab, largest: usize) -> Result<()> {
    let context = lab.context().clone();
    let cases = Kind::ALL.map(|kind| (kind, largest));
    for (kind, bytes) in cases.into_iter().chain([(Kind::Registered, 1 << 20)]) {
        let case = |name| Case::new(name).with("kind", kind).with("bytes", bytes);
        let before = || Ok(HostMemory::before(kind, bytes));
        case("allocate")
            .time_on_host_after(lab, before, |vec| {
                HostMemory::from(&context, kind, bytes, vec)
            })?
            .record(lab)?;

        let before = || HostMemory::new(&context, kind, bytes);
        case("release")
            .time_on_host_after(lab, before, |memory| Ok(memory.release()))?
            .record(lab)?;
    }
    Ok(())
}
