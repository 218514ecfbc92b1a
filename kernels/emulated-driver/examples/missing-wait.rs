//! Two streams and two missing waits, in a program that knows nothing but cudarc: copy it into a
//! crate of your own. The book's page "Your own kernel" runs it on the emulated GPU; with the
//! argument `ordered` the waits are there.

use cudarc::driver::{CudaContext, DriverError};

fn main() -> Result<(), DriverError> {
    let ordered = std::env::args().nth(1).as_deref() == Some("ordered");
    let context = CudaContext::new(0)?;
    // SAFETY: cudarc then puts no waits between streams. The program has to, and is here to
    // show what comes of it if it does not.
    unsafe { context.disable_event_tracking() };

    // ANCHOR: streams
    let (copies, work) = (context.new_stream()?, context.new_stream()?);
    let batch = copies.clone_htod(&[1.5f32; 1024])?;
    if ordered {
        work.join(&copies)?; // the batch has arrived
    }
    let result = work.clone_dtod(&batch)?;
    if ordered {
        copies.join(&work)?; // and has been used
    }
    drop(batch); // is freed in the stream `copies`, which made it
    println!("{}", work.clone_dtoh(&result)?[0]);
    // ANCHOR_END: streams
    Ok(())
}
