use trial::ledger::Kind;
use trial::{Result, Trial, anyhow, numbers, peer_access};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    if !peer_access::enable_all(trial.contexts())?.is_granted() {
        return Err(anyhow!("these GPUs have no access to each other"));
    }
    let n = gpus.len();
    for length in [n, n + 1, 999, 20_003] {
        let all: Vec<_> = (0..n).map(|rank| numbers(length, rank)).collect();
        let data =
            gpus.iter().zip(&all).map(|(gpu, all)| gpu.stream.clone_htod(all));
        let mut data = data.collect::<Result<Vec<_>, _>>()?;
        let chunk = length.div_ceil(n);
        let inboxes = gpus.iter().map(|gpu| gpu.stream.alloc_zeros(chunk));
        let mut inboxes = inboxes.collect::<Result<Vec<_>, _>>()?;
        for (rank, gpu) in gpus.iter().enumerate() {
            trial.name(&data[rank], &gpu.stream, &format!("data of GPU {rank}"));
            trial.name(&inboxes[rank], &gpu.stream, &format!("inbox of GPU {rank}"));
            gpu.stream.synchronize()?;
        }
        let title = format!("{length} numbers on each of {n} GPUs");
        trial.watch(&title, || mine::all_reduce(&gpus, &mut data, &mut inboxes))?;
        let column = |i: usize| all.iter().map(|data| data[i]).sum::<f32>();
        let wanted: Vec<f32> = (0..length).map(column).collect();
        for (rank, gpu) in gpus.iter().enumerate() {
            let found = gpu.stream.clone_dtoh(&data[rank])?;
            trial.equal(&format!("on GPU {rank}: data"), &found, &wanted);
        }
        trial.size("chunk", chunk);
        trial.size("gpus", n);
        trial.size("most", (0..n).map(|gpu| sent(trial, gpu)).max().unwrap_or(0));
    }
    Ok(())
}

/// Bytes that a GPU has sent to others.
fn sent(trial: &Trial, gpu: usize) -> usize {
    let ledger = trial.ledger();
    let is_sent =
        |kind: &Kind| matches!(kind, Kind::PeerCopy { from, .. } if *from == gpu);
    let copies =
        ledger.operations.iter().filter(|operation| is_sent(&operation.kind));
    copies.map(|operation| operation.bytes as usize).sum()
}
