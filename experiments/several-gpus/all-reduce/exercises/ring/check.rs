use trial::{Result, Trial, anyhow, most_sent_and_received, numbers, peer_access};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    if !peer_access::enable_all(trial.contexts())?.is_granted() {
        return Err(anyhow!("these GPUs have no access to each other"));
    }
    let n = gpus.len();
    for length in [n, n + 1, 999, 20_003] {
        let all: Vec<_> = (0..n).map(|rank| numbers(length, rank)).collect();
        let chunk = length.div_ceil(n);
        let (mut data, mut inboxes) = (vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let name = |what| format!("{what} of GPU {rank}");
            data.push(trial.upload(&gpu.stream, &all[rank], &name("data"))?);
            inboxes.push(trial.zeros(&gpu.stream, chunk, &name("inbox"))?);
            gpu.stream.synchronize()?;
        }
        let title = format!("{length} numbers on each of {n} GPUs");
        trial.watch(&title, || mine::all_reduce(&gpus, &mut data, &mut inboxes))?;
        let column = |i: usize| all.iter().map(|data| data[i]).sum::<f32>();
        let wanted: Vec<f32> = (0..length).map(column).collect();
        for (rank, gpu) in gpus.iter().enumerate() {
            let what = format!("on GPU {rank}: data");
            trial.equal_on_gpu(&what, &gpu.stream, &data[rank], &wanted)?;
        }
        trial.size("chunk", chunk);
        trial.size("gpus", n);
        let [sent, _] = most_sent_and_received(&trial.ledger(), n);
        trial.size("most", sent);
    }
    Ok(())
}
