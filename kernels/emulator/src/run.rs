//! Whether a launch can be made, and running it.

use crate::counts::Counts;
use crate::fault::{Fault, FaultKind};
use crate::launch::{Launch, Options};
use crate::machine;
use crate::memory::Memory;
use crate::module::{Kernel, Module};

/// Threads that a block may have.
const MOST_THREADS: u64 = 1024;
/// Shared memory that a block may have on any GPU.
const MOST_SHARED_BYTES: u64 = 227 * 1024;
/// Of which so much may be static.
const MOST_STATIC_BYTES: u32 = 48 * 1024;

/// Runs a kernel to its end and tells what it did. The same launch on the same memory has
/// the same result each time.
pub fn run(
    module: &Module,
    kernel: &str,
    launch: &Launch<'_>,
    memory: &mut Memory,
    options: &Options,
) -> Result<Counts, Box<Fault>> {
    let bad = |kind, what: String| {
        let kernel = kernel.to_owned();
        let nowhere = (None, None, None);
        let (place, block, thread) = nowhere;
        Err(Box::new(Fault { kind, what, kernel, place, block, thread }))
    };
    let Some(found) = module.kernel(kernel) else {
        return bad(FaultKind::BadLaunch, "there is no such kernel".to_owned());
    };
    if let Some(error) = &found.unsupported {
        return bad(FaultKind::Unsupported, error.to_string());
    }
    if let Some(what) = found.too_much_shared() {
        let place = found.program.places.first().cloned();
        return bad(FaultKind::BadLaunch, what)
            .map_err(|fault| Box::new(Fault { place, ..*fault }));
    }
    if let Err(what) = check(module, found, launch) {
        return bad(FaultKind::BadLaunch, what);
    }
    machine::run(module, found, launch, memory, options)
}

impl Kernel {
    /// What is wrong with the kernel if its arrays in shared memory are larger than CUDA allows.
    /// No driver loads a module with such a kernel.
    pub fn too_much_shared(&self) -> Option<String> {
        let bytes = self.shared_bytes;
        let arrays = self.program.shared.iter().rev().filter(|array| array.start.is_some());
        let array = &arrays.max_by_key(|array| array.bytes)?.name;
        (bytes > MOST_STATIC_BYTES).then(|| {
            format!(
                "it declares {bytes} bytes of shared memory (its largest array is `{array}`) \
                 and may declare {MOST_STATIC_BYTES} (48 KiB): use a smaller array; more than \
                 48 KiB has to be dynamic shared memory, which the launch asks for"
            )
        })
    }
}

/// Can the launch be made?
fn check(module: &Module, kernel: &Kernel, launch: &Launch<'_>) -> Result<(), String> {
    let [x, y, z] = launch.block;
    let threads = u64::from(x) * u64::from(y) * u64::from(z);
    if threads == 0 || threads > MOST_THREADS {
        return Err(format!("a block of {x} × {y} × {z} threads: it has 1 to {MOST_THREADS}"));
    }
    if let Some(most) = kernel.max_threads.filter(|most| threads > u64::from(*most)) {
        return Err(format!("a block of {threads} threads, of {most} at most"));
    }
    if launch.grid.contains(&0) {
        return Err(format!("a grid of {:?} blocks", launch.grid));
    }
    let shared = u64::from(kernel.shared_bytes) + u64::from(launch.shared_bytes);
    if shared > MOST_SHARED_BYTES {
        return Err(format!(
            "{shared} bytes of shared memory for each block, which may have \
             {MOST_SHARED_BYTES} (227 KiB)"
        ));
    }
    let (wanted, given) = (kernel.argument_bytes() as usize, launch.arguments.len());
    if given < wanted {
        return Err(format!("{given} bytes of arguments, of {wanted} that it takes"));
    }
    let placed = module.variables().iter().all(|variable| variable.address.is_some());
    if kernel.program.uses_variables && !placed {
        return Err("the module's variables have no place yet".to_owned());
    }
    Ok(())
}
