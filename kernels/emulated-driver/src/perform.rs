//! What happens when the turn of a piece of work comes.

use std::io::Write;

use cudarc::driver::sys::CUresult::{self, *};
use emulator::{FaultKind, Launch, Options};
use streams::Ticket;

use crate::driver::{Driver, report};
use crate::faults;
use crate::host;
use crate::memory::Where;
use crate::work::{Failure, KernelLaunch, Work};

/// Bytes that a copy with the host moves at once.
const PIECE: usize = 256 << 10;

impl Driver {
    /// Does a piece of work, but for a host function's, which is not the driver's to do.
    pub(crate) fn perform(&mut self, ticket: Ticket, work: Work) -> Result<(), Failure> {
        match self.misdone(work) {
            Work::Nothing | Work::Record | Work::Wait | Work::Prefetch { .. } | Work::Call(_) => {
                Ok(())
            }
            Work::Copy { to, from, bytes, noted } => {
                if noted.is_some_and(|noted| noted.has_changed(self.host_writes)) {
                    let what = "the program has changed memory that this copy was to use";
                    self.report_copy(to, from, bytes, what);
                }
                self.copy(to, from, bytes)
            }
            Work::Upload { to, from } => Ok(self.memory.content.write(to, &from)?),
            Work::Fill { to, pattern, count } => {
                faults::rest_after(pattern.len() as u64 * count);
                Ok(self.memory.content.fill(to, &pattern, count)?)
            }
            Work::Make { address, bytes, name } => Ok(self.memory.make(address, bytes, &name)?),
            Work::Unmake { address, .. } => Ok(self.memory.unmake(address)?),
            Work::Launch(launch) => self.run(ticket, &launch),
        }
    }

    fn report_copy(&self, to: u64, from: u64, bytes: u64, what: &str) {
        let name = |address| match self.memory.around(address) {
            Some((_, holding)) => holding.name.clone(),
            None => format!("{address:#x}"),
        };
        let copy = format!("a copy of {bytes} bytes from {} to {}", name(from), name(to));
        report(&copy, what);
    }

    fn copy(&mut self, to: u64, from: u64, bytes: u64) -> Result<(), Failure> {
        // The program may have freed what it holds since, but then the copy was done first:
        // freeing waits. (It does not know of graphs that are not launched yet.) What is in
        // device memory goes in the order of streams.
        let on_device = |address| self.is_device_memory(address);
        let (to_device, from_device) = (on_device(to), on_device(from));
        self.host_writes += u64::from(!to_device);
        let content = &mut self.memory.content;
        if to_device && from_device {
            return Ok(content.copy(to, from, bytes)?);
        }
        let mut piece = vec![0; PIECE.min(bytes as usize)];
        for offset in (0..bytes).step_by(PIECE) {
            let piece = &mut piece[..PIECE.min((bytes - offset) as usize)];
            if from_device {
                content.read(from + offset, piece)?;
            } else {
                // SAFETY: the call that queued this has checked what the driver knows of
                // the range; the rest is the program's promise.
                unsafe { host::read((from + offset) as usize, piece) };
            }
            if to_device {
                content.write(to + offset, piece)?;
            } else {
                // SAFETY: as above.
                unsafe { host::write((to + offset) as usize, piece) };
            }
        }
        Ok(())
    }

    fn is_device_memory(&self, address: u64) -> bool {
        !matches!(self.memory.locate(address, 1), Ok(Where::Host | Where::Pageable))
    }

    fn run(&mut self, ticket: Ticket, launch: &KernelLaunch) -> Result<(), Failure> {
        let shape = Launch {
            grid: launch.grid,
            block: launch.block,
            shared_bytes: launch.shared_bytes,
            arguments: &launch.arguments,
        };
        let touched = self.recorder.is_kept();
        let content = &mut self.memory.content;
        let print_bytes = launch.print_bytes;
        let pieces = self.counts_pieces;
        let options = Options { print_bytes, touched, pieces, ..Options::default() };
        let ran = emulator::run(&launch.module, &launch.kernel, &shape, content, &options);
        self.recorder.touched(ticket, content);
        match ran {
            Ok(counts) => {
                // What a kernel prints is lost if nobody can read it, as on hardware.
                let mut out = std::io::stdout();
                let _ = out.write_all(counts.printed.as_bytes());
                let _ = out.flush(); // the program's own stream is another one
                if counts.printed_before > 0 {
                    let what = format!(
                        "it printed more than the buffer of {print_bytes} bytes holds: \
                         the first {} bytes are lost; print less, or enlarge the buffer \
                         with cuCtxSetLimit",
                        counts.printed_before
                    );
                    report(&counts.kernel, &what);
                }
                self.counted.add(&counts);
                self.host_writes += 1; // it may have reached the host's memory
                Ok(())
            }
            Err(fault) => Err(Failure { code: code_of(fault.kind), what: fault.to_string() }),
        }
    }
}

/// What NVIDIA's driver would answer. It knows nothing of most mistakes that the emulator
/// finds; then it is a failed launch.
fn code_of(fault: FaultKind) -> CUresult {
    match fault {
        FaultKind::BadLaunch => CUDA_ERROR_INVALID_VALUE,
        FaultKind::OutOfBounds | FaultKind::UseAfterFree => CUDA_ERROR_ILLEGAL_ADDRESS,
        FaultKind::Misaligned => CUDA_ERROR_MISALIGNED_ADDRESS,
        FaultKind::NoProgress | FaultKind::OverBudget => CUDA_ERROR_LAUNCH_TIMEOUT,
        FaultKind::Assertion => CUDA_ERROR_ASSERT,
        FaultKind::Unsupported => CUDA_ERROR_NOT_SUPPORTED,
        _ => CUDA_ERROR_LAUNCH_FAILED,
    }
}
