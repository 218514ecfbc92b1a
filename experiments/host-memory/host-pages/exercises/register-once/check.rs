use trial::{Result, Trial, numbers, pinned_upload_bytes};

pub fn check(trial: &mut Trial) -> Result<()> {
    let stream = trial.context().new_stream()?;
    for (count, steps) in [(1, 1), (1000, 2), (50_001, 8)] {
        let mut array = numbers(count, 0);
        let step =
            |array: &mut [f32]| array.iter_mut().for_each(|number| *number += 1.0);
        let new = || stream.alloc_zeros(count);
        let mut targets =
            (0..steps).map(|_| new()).collect::<Result<Vec<_>, _>>()?;
        stream.synchronize()?;
        let title = format!("{count} numbers, {steps} steps");
        trial
            .watch(&title, || mine::run(&stream, &mut array, step, &mut targets))?;
        let mut wanted = numbers(count, 0);
        for (number, target) in targets.iter().enumerate() {
            step(&mut wanted);
            let what = format!("target {number}");
            trial.equal_on_gpu(&what, &stream, target, &wanted)?;
        }
        trial.size("pinned_bytes", pinned_upload_bytes(&trial.ledger()));
        trial.size("count", count);
        trial.size("steps", steps);
    }
    Ok(())
}
