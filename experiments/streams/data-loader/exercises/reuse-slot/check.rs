use trial::{Result, Trial, made_beside_copies, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let (copies, compute) = (context.new_stream()?, context.new_stream()?);
    let marks = context.new_stream()?;
    for (count, length) in [(1, 1), (3, 33), (8, 4000)] {
        let mut memory = pinned(&context, 2 * length, |_| 0.0)?;
        let (one, other) = memory.as_mut_slice()?.split_at_mut(length);
        let mut slots = [one, other];
        let zeros = |name| trial.zeros(&compute, length, name);
        let mut halves = [zeros("half 0")?, zeros("half 1")?];
        let mut sum = zeros("sum")?;
        compute.synchronize()?;
        let make = |turn: usize, slot: &mut [f32]| {
            let _ = marks.record_event(None); // for the ledger
            slot.copy_from_slice(&numbers(length, turn));
        };
        trial.watch(&format!("{count} batches"), || {
            marks.record_event(None)?;
            let (slots, halves) = (&mut slots, &mut halves);
            mine::feed(
                &copies, &compute, &kernels, count, &make, slots, halves, &mut sum,
            )
        })?;
        let mut wanted = vec![0.0; length];
        for turn in 0..count {
            let batch = numbers(length, turn);
            wanted.iter_mut().zip(batch).for_each(|(sum, number)| *sum += number);
        }
        trial.equal_on_gpu("sum", &compute, &sum, &wanted)?;
        trial.size("batches", count);
        trial.size("beside", made_beside_copies(&trial.ledger()));
    }
    Ok(())
}
