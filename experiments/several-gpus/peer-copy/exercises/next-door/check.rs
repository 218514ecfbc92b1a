use trial::{Result, Trial, ensure, numbers, peer_access};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for here in &gpus {
        for there in gpus.iter().filter(|there| there.context != here.context) {
            let access = peer_access::enable(&here.context, &there.context)?;
            ensure!(access.is_granted(), "{access:?}");
        }
    }
    for count in [1, 77, 40_000] {
        let (mut from, mut to, mut wanted) = (vec![], vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let all = numbers(count, rank);
            from.push(gpu.stream.clone_htod(&all)?);
            to.push(gpu.stream.alloc_zeros(count)?);
            wanted.push(all);
            trial.name(&from[rank], &gpu.stream, &format!("from of GPU {rank}"));
            trial.name(&to[rank], &gpu.stream, &format!("to of GPU {rank}"));
            gpu.stream.synchronize()?;
        }
        let title = format!("{count} numbers on each of {} GPUs", gpus.len());
        trial.watch(&title, || {
            // Made while the function is called.
            for (gpu, source) in gpus.iter().zip(&mut from) {
                gpu.kernels.scale(&gpu.stream, &mut source.as_view_mut(), 2.0)?;
            }
            mine::pass(&gpus, &from, &mut to)
        })?;
        for (rank, gpu) in gpus.iter().enumerate() {
            let before = &wanted[(rank + gpus.len() - 1) % gpus.len()];
            let doubled: Vec<f32> = before.iter().map(|number| 2.0 * number).collect();
            let found = gpu.stream.clone_dtoh(&to[rank])?;
            trial.equal(&format!("on GPU {rank}: to"), &found, &doubled);
        }
        trial.size("bytes", 4 * count);
        trial.size("gpus", gpus.len());
    }
    Ok(())
}
