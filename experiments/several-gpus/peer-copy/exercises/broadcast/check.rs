use trial::{Result, Trial, most_sent_and_received, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for count in [1, 77, 40_000] {
        let all = numbers(count, 5);
        let mut data = vec![];
        for (rank, gpu) in gpus.iter().enumerate() {
            let name = format!("data of GPU {rank}");
            data.push(match rank {
                0 => trial.upload(&gpu.stream, &all, &name)?,
                _ => trial.zeros(&gpu.stream, count, &name)?,
            });
            gpu.stream.synchronize()?;
        }
        let title = format!("{count} numbers to {} GPUs", gpus.len());
        trial.watch(&title, || mine::broadcast(&gpus, &mut data))?;
        for (rank, gpu) in gpus.iter().enumerate() {
            let what = format!("on GPU {rank}: data");
            trial.equal_on_gpu(&what, &gpu.stream, &data[rank], &all)?;
        }
        trial.size("bytes", 4 * count);
        trial.size("gpus", gpus.len());
        let [sent, _] = most_sent_and_received(&trial.ledger(), gpus.len());
        trial.size("most", sent);
    }
    Ok(())
}
