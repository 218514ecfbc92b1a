use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for length in [1, 33, 10_001] {
        let all: Vec<_> =
            (0..gpus.len()).map(|rank| numbers(length, rank)).collect();
        let parts =
            gpus.iter().zip(&all).map(|(gpu, all)| gpu.stream.clone_htod(all));
        let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
        let mut sum = gpus[0].stream.alloc_zeros(length)?;
        for (rank, gpu) in gpus.iter().enumerate() {
            trial.name(&parts[rank], &gpu.stream, &format!("part {rank}"));
            gpu.stream.synchronize()?;
        }
        trial.name(&sum, &gpus[0].stream, "sum");
        let title = format!("{length} numbers on each of {} GPUs", gpus.len());
        trial.watch(&title, || {
            for (gpu, part) in gpus.iter().zip(&mut parts) {
                gpu.kernels.scale(&gpu.stream, &mut part.as_view_mut(), 2.0)?;
            }
            mine::add_up(&gpus, &parts, &mut sum)
        })?;
        let column = |i: usize| all.iter().map(|part| 2.0 * part[i]).sum::<f32>();
        let wanted: Vec<f32> = (0..length).map(column).collect();
        trial.equal("sum", &gpus[0].stream.clone_dtoh(&sum)?, &wanted);
        trial.size("length", length);
        trial.size("gpus", gpus.len());
    }
    Ok(())
}
