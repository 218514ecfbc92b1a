use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for count in [1, 33, 100_003] {
        let all = numbers(count, 5);
        let mut memory = pinned(trial.context(), count, |i| all[i])?;
        let memory = memory.as_mut_slice()?;
        let title = format!("{count} numbers on {} GPUs", gpus.len());
        let found = trial.watch(&title, || {
            mine::double(&gpus, memory)?;
            Ok(memory.to_vec())
        })?;
        let wanted: Vec<f32> = all.iter().map(|number| 2.0 * number).collect();
        trial.equal("numbers", &found, &wanted);
        trial.size("count", count);
        trial.size("gpus", gpus.len());
    }
    Ok(())
}
