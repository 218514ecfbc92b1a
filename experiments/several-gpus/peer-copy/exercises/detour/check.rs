use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for length in [1, 33, 10_001] {
        let all: Vec<_> =
            (0..gpus.len()).map(|rank| numbers(length, rank)).collect();
        let mut sum = trial.zeros(&gpus[0].stream, length, "sum")?;
        let mut parts = vec![];
        for (rank, gpu) in gpus.iter().enumerate() {
            let name = format!("part {rank}");
            parts.push(trial.upload(&gpu.stream, &all[rank], &name)?);
            gpu.stream.synchronize()?;
        }
        let title = format!("{length} numbers on each of {} GPUs", gpus.len());
        trial.watch(&title, || {
            for (gpu, part) in gpus.iter().zip(&mut parts) {
                gpu.kernels.scale(&gpu.stream, &mut part.as_view_mut(), 2.0)?;
            }
            mine::add_up(&gpus, &parts, &mut sum)
        })?;
        let column = |i: usize| all.iter().map(|part| 2.0 * part[i]).sum::<f32>();
        let wanted: Vec<f32> = (0..length).map(column).collect();
        trial.equal_on_gpu("sum", &gpus[0].stream, &sum, &wanted)?;
        trial.size("length", length);
        trial.size("gpus", gpus.len());
    }
    Ok(())
}
