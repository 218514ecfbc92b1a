use trial::{
    Result, Trial, made_beside_copies, most_bytes, numbers, pinned,
    pinned_upload_bytes,
};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let marks = context.new_stream()?;
    for (frames, length) in [(1, 1), (3, 33), (30, 1000)] {
        let mut home = pinned(&context, frames * length, |_| 0.0)?;
        let home = home.as_mut_slice()?;
        let read = |frame: usize, memory: &mut [f32]| {
            let _ = marks.record_event(None); // for the ledger
            memory.copy_from_slice(&numbers(length, frame));
        };
        let found = trial.watch(&format!("{frames} frames"), || {
            marks.record_event(None)?;
            mine::running(&context, &kernels, &read, length, home)?;
            Ok(home.to_vec())
        })?;
        let mut sum = vec![0.0; length];
        let mut wanted = vec![];
        for frame in 0..frames {
            let numbers = numbers(length, frame);
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
            wanted.extend_from_slice(&sum);
        }
        trial.equal("sums", &found, &wanted);
        let ledger = trial.ledger();
        trial.size("frames", frames);
        trial.size("bytes", 4 * length);
        trial.size("pinned_bytes", pinned_upload_bytes(&ledger));
        trial.size("most_bytes", most_bytes(&ledger));
        trial.size("beside", made_beside_copies(&ledger));
    }
    Ok(())
}
