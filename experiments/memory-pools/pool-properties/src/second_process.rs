//! Two processes and one pool: the experiment starts itself a second time.

use std::io::{Error, stdin};
use std::os::fd::AsFd;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Instant;

use cudarc::driver::sys::CUmemAllocationHandleType as Handle;
use cudarc::driver::{CudaContext, CudaStream, DevicePtr};
use lab::check::{self, value};
use lab::{Case, Clock, Lab, Result};
use pool::driver::{DriverPool, Exported, Properties, export_address};

use crate::memory::{self, memory};
use crate::{answered, code, name};

/// Tells a process that it is the second one: the GPU, and where to find the memory.
const SECOND: &str = "POOL_PROPERTIES_SECOND";
/// Words in the memory that both use; no block of memory ends there.
const WORDS: usize = (4 << 20) + 3;

/// The first process: makes a pool that can be opened, and lets the second open it.
pub(crate) fn share(
    lab: &mut Lab,
    stream: &Arc<CudaStream>,
    plain: Properties,
) -> Result<()> {
    let closed = DriverPool::new(&plain)?;
    let case = Case::new("export").with("handle_types", "none").with("what", "pool");
    answered(lab, case, || closed.export())?;

    let handle_types = Handle::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    let case = Case::new("import").with("handle_types", "posix");
    let Ok(pool) =
        DriverPool::new(&Properties { handleTypes: handle_types, ..plain })
    else {
        lab.skip(case, "this driver makes no pool that another process can open");
        return Ok(());
    };
    let ramp: Vec<u32> = (0..WORDS).map(value).collect();
    let mut memory = memory(&pool, stream, WORDS)?;
    let address = memory.device_ptr(stream).0;
    // An allocation has no place for others before its pool has been exported.
    let early = Case::new("export")
        .with("handle_types", "posix")
        .with("what", "memory_first");
    answered(lab, early, || export_address(address))?;

    let turn = || {
        stream.memcpy_htod(&ramp, &mut memory)?;
        stream.synchronize()?;
        // ANCHOR: first
        let descriptor = pool.export()?;
        let place = export_address(address)?.reserved;
        let place = place.map(|byte| format!("{byte:02x}")).concat();
        let second = Command::new(std::env::current_exe()?)
            .env(SECOND, format!("{} {place}", plain.location.id))
            .stdin(descriptor) // becomes its standard input
            .output()?;
        // ANCHOR_END: first
        let report = String::from_utf8_lossy(&second.stdout);
        let mut words = report.split_whitespace();
        let (true, Some(seconds), Some(answer), Some(checked)) =
            (second.status.success(), words.next(), words.next(), words.next())
        else {
            let why = String::from_utf8_lossy(&second.stderr);
            return Err(Error::other(format!("second process: {why}")).into());
        };
        // It has counted on.
        let counted = stream.clone_dtoh(&memory)?;
        let back = check::every_element("what came back", &counted, counted_on)?;
        let checked: u64 = checked.parse()?;
        Ok((seconds.parse()?, (answer.to_owned(), checked + back)))
    };
    case.time_turns(lab, Clock::Host, turn)?
        .check_last(|(_, checked)| Ok(*checked))?
        .note(|case, (answer, _)| Ok(case.with("new_memory", answer.as_str())))?
        .record(lab)?;

    let case = Case::new("export").with("handle_types", "posix");
    answered(lab, case.clone().with("what", "pool"), || pool.export())?;
    answered(lab, case.with("what", "memory"), || export_address(address))?;
    drop(memory);
    Ok(stream.synchronize()?)
}

fn counted_on(i: usize) -> u32 {
    value(i).wrapping_add(1)
}

/// The second process, if this is it: opens the memory and says how that went.
pub(crate) fn second_process() -> Option<ExitCode> {
    let what = std::env::var(SECOND).ok()?;
    Some(match open(&what) {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    })
}

/// Seconds until the memory was open, what an allocation from the pool answered, and how
/// many words were checked.
fn open(what: &str) -> Result<String> {
    let (gpu, place) = what.split_once(' ').ok_or(Error::other("no place"))?;
    let mut exported = Exported { reserved: [0; 64] };
    for (i, byte) in exported.reserved.iter_mut().enumerate() {
        let digits = place.get(2 * i..2 * i + 2).ok_or(Error::other("no place"))?;
        *byte = u8::from_str_radix(digits, 16)?;
    }
    let context = CudaContext::new(gpu.parse()?)?;
    let stream = context.new_stream()?;
    // ANCHOR: second
    let descriptor = stdin().as_fd().try_clone_to_owned()?;
    let start = Instant::now();
    let pool = DriverPool::import(&descriptor)?;
    let address = pool.import_address(exported)?;
    let seconds = start.elapsed().as_secs_f64();
    // SAFETY: the first process has exported that many words.
    let mut memory = unsafe { stream.upgrade_device_ptr(address, WORDS) };

    let seen = stream.clone_dtoh(&memory)?;
    let checked = check::every_element("what was shared", &seen, value)?;
    let next: Vec<u32> = (0..WORDS).map(counted_on).collect();
    stream.memcpy_htod(&next, &mut memory)?;
    stream.synchronize()?;
    let new_memory = name(code(&memory::memory(&pool, &stream, 1024)));
    // ANCHOR_END: second
    drop(memory);
    stream.synchronize()?;
    Ok(format!("{seconds:e} {new_memory} {checked}"))
}
