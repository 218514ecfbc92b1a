use trial::ledger::Kind;
use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let n = gpus.len();
    for length in [n, n + 1, 999, 20_003] {
        let all: Vec<_> = (0..n).map(|rank| numbers(length, rank)).collect();
        let (mut gradients, mut inboxes, mut sums) = (vec![], vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let part = length * rank / n..length * (rank + 1) / n;
            gradients.push(gpu.stream.clone_htod(&all[rank])?);
            inboxes.push(gpu.stream.clone_htod(&numbers(length, 77))?);
            sums.push(gpu.stream.clone_htod(&numbers(part.len(), 78))?);
            trial.name(&gradients[rank], &gpu.stream, &format!("gradients of GPU {rank}"));
            trial.name(&inboxes[rank], &gpu.stream, &format!("inbox of GPU {rank}"));
            trial.name(&sums[rank], &gpu.stream, &format!("sum of GPU {rank}"));
            gpu.stream.synchronize()?;
        }
        let title = format!("{length} gradients on each of {n} GPUs");
        trial.watch(&title, || {
            mine::reduce_scatter(&gpus, &gradients, &mut inboxes, &mut sums)
        })?;
        for (rank, gpu) in gpus.iter().enumerate() {
            let part = length * rank / n..length * (rank + 1) / n;
            let column = |i: usize| all.iter().map(|data| data[i]).sum::<f32>();
            let wanted: Vec<f32> = part.map(column).collect();
            let found = gpu.stream.clone_dtoh(&sums[rank])?;
            trial.equal(&format!("on GPU {rank}: sum"), &found, &wanted);
        }
        trial.size("length", length);
        trial.size("gpus", n);
        trial.size("most", (0..n).map(|gpu| received(trial, gpu)).max().unwrap_or(0));
    }
    Ok(())
}

/// Bytes that a GPU has got from others.
fn received(trial: &Trial, gpu: usize) -> usize {
    let ledger = trial.ledger();
    let is_received =
        |kind: &Kind| matches!(kind, Kind::PeerCopy { to, .. } if *to == gpu);
    let copies =
        ledger.operations.iter().filter(|operation| is_received(&operation.kind));
    copies.map(|operation| operation.bytes as usize).sum()
}
