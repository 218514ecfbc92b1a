use trial::{Result, Trial, ensure, numbers, peer_access};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let access = peer_access::enable_all(trial.contexts())?;
    ensure!(access.is_granted(), "{access:?}");
    for count in [1, 77, 40_000] {
        let (mut from, mut to, mut wanted) = (vec![], vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let (all, name) = (numbers(count, rank), |what| format!("{what} of GPU {rank}"));
            from.push(trial.upload(&gpu.stream, &all, &name("from"))?);
            to.push(trial.zeros(&gpu.stream, count, &name("to"))?);
            wanted.push(all);
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
            let what = format!("on GPU {rank}: to");
            trial.equal_on_gpu(&what, &gpu.stream, &to[rank], &doubled)?;
        }
        trial.size("bytes", 4 * count);
        trial.size("gpus", gpus.len());
    }
    Ok(())
}
