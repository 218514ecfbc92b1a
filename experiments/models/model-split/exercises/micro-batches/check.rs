use trial::ledger::Kind;
use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let n = gpus.len();
    for count in [1, 77, 40_000] {
        let all = numbers(count, 5);
        // The layers' product is exact in any order: powers of two, and a sign.
        let factors: Vec<f32> =
            (0..n).map(|rank| [-2.0, 0.5, 4.0, -0.25][rank % 4]).collect();
        let mut batch = vec![];
        for (rank, gpu) in gpus.iter().enumerate() {
            let name = format!("batch on GPU {rank}");
            batch.push(match rank {
                0 => trial.upload(&gpu.stream, &all, &name)?,
                _ => trial.zeros(&gpu.stream, count, &name)?,
            });
            gpu.stream.synchronize()?;
        }
        let title = format!("{count} numbers through {n} GPUs");
        trial.watch(&title, || mine::forward(&gpus, &mut batch, &factors))?;
        let product: f32 = factors.iter().product();
        let wanted: Vec<f32> = all.iter().map(|x| x * product).collect();
        let (stream, last) = (&gpus[n - 1].stream, &batch[n - 1]);
        trial.equal_on_gpu("what comes out", stream, last, &wanted)?;
        trial.size("numbers", count);
        trial.size("gpus", n);
        trial.size("least", (0..n).map(|gpu| computed(trial, gpu)).min().unwrap_or(0));
    }
    Ok(())
}

/// How many numbers a GPU's kernels have written.
fn computed(trial: &Trial, gpu: usize) -> usize {
    let ledger = trial.ledger();
    let operations = ledger.operations.iter().filter(|o| o.gpu == gpu);
    let kernels = operations.filter(|o| matches!(o.kind, Kind::Kernel(_)));
    let written = kernels.flat_map(|kernel| &kernel.written);
    written.map(|range| range.bytes as usize / size_of::<f32>()).sum()
}
