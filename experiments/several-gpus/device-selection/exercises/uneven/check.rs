use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let usual = |job: usize| if job % 4 == 0 { 900 } else { 50 + 37 * job % 100 };
    for count in [1, 3, 41] {
        let mut lengths: Vec<usize> = (0..count).map(usual).collect();
        // Near the end, and as large as a GPU's share.
        lengths[count * 9 / 10] = lengths.iter().sum::<usize>() / 4;
        let total = lengths.iter().sum();
        let all = numbers(total, 5);
        let mut memory = pinned(trial.context(), total, |i| all[i])?;
        let mut rest = memory.as_mut_slice()?;
        let mut jobs = vec![];
        for length in lengths {
            let (job, others) = rest.split_at_mut(length);
            jobs.push(job);
            rest = others;
        }
        let title = format!("{count} jobs on {} GPUs", gpus.len());
        let found = trial.watch(&title, || {
            mine::double(&gpus, &mut jobs)?;
            // In memory's order, in whatever order the jobs are now.
            jobs.sort_by_key(|job| job.as_ptr());
            Ok(jobs.concat())
        })?;
        let wanted: Vec<f32> = all.iter().map(|number| 2.0 * number).collect();
        trial.equal("numbers", &found, &wanted);
        trial.size("total", total);
        trial.size("gpus", gpus.len());
    }
    Ok(())
}
