use trial::ledger::Kind;
use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for count in [1, 77, 40_000] {
        let all = numbers(count, 5);
        let upload = |rank| match rank {
            0 => gpus[0].stream.clone_htod(&all),
            _ => gpus[rank].stream.alloc_zeros(count),
        };
        let mut data = (0..gpus.len()).map(upload).collect::<Result<Vec<_>, _>>()?;
        for (rank, gpu) in gpus.iter().enumerate() {
            trial.name(&data[rank], &gpu.stream, &format!("data of GPU {rank}"));
            gpu.stream.synchronize()?;
        }
        let title = format!("{count} numbers to {} GPUs", gpus.len());
        trial.watch(&title, || mine::broadcast(&gpus, &mut data))?;
        for (rank, gpu) in gpus.iter().enumerate() {
            let found = gpu.stream.clone_dtoh(&data[rank])?;
            trial.equal(&format!("on GPU {rank}: data"), &found, &all);
        }
        trial.size("bytes", 4 * count);
        trial.size("gpus", gpus.len());
        trial.size(
            "most",
            (0..gpus.len()).map(|gpu| sent(trial, gpu)).max().unwrap_or(0),
        );
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
