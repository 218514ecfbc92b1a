use trial::{Result, Trial, numbers};

const LENGTH: usize = 100;

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    for most in [1, 5] {
        // The second rank has one batch fewer than the first, and so on.
        let counts: Vec<usize> =
            (0..gpus.len()).map(|rank| most - rank % most).collect();
        let batch = |rank: usize, turn: usize| numbers(LENGTH, 10 * rank + turn);
        let shares: Vec<Vec<_>> = (0..gpus.len())
            .map(|rank| (0..counts[rank]).map(|turn| batch(rank, turn)).collect())
            .collect();
        let mut gradients = vec![];
        for (rank, gpu) in gpus.iter().enumerate() {
            let name = format!("gradient of rank {rank}");
            gradients.push(trial.zeros(&gpu.stream, LENGTH, &name)?);
            gpu.stream.synchronize()?;
        }
        let mut sums: Vec<Vec<f32>> = vec![];
        let title = format!("{counts:?} batches on {} GPUs", gpus.len());
        let waits = trial.watch(&title, || {
            for turn in 0..most + 2 {
                let mut calls = vec![];
                for (rank, gpu) in gpus.iter().enumerate() {
                    let gradient = &mut gradients[rank];
                    calls.push(mine::turn(gpu, turn, &shares[rank], &counts, gradient)?);
                }
                if calls.iter().all(|calls| !calls) {
                    return Ok(None);
                }
                if let Some(gone) = calls.iter().position(|calls| !calls) {
                    let waiting = calls.iter().position(|calls| *calls).unwrap_or_default();
                    return Ok(Some(format!(
                        "in turn {turn} rank {waiting} calls the all-reduce, and waits forever for \
                         rank {gone}, which has gone"
                    )));
                }
                let mut sum = vec![0.0; LENGTH];
                for (gpu, gradient) in gpus.iter().zip(&gradients) {
                    let own = gpu.stream.clone_dtoh(gradient)?;
                    gpu.stream.synchronize()?;
                    sum.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
                }
                for (gpu, gradient) in gpus.iter().zip(&mut gradients) {
                    gpu.stream.memcpy_htod(&sum, gradient)?;
                    gpu.stream.synchronize()?;
                }
                sums.push(sum);
            }
            Ok(Some("no rank ever stops".into()))
        })?;
        if let Some(waits) = waits {
            trial.wrong(&waits);
            continue;
        }
        if sums.len() != most {
            let calls = sums.len();
            trial.wrong(&format!(
                "{calls} all-reduces, where there have to be {most}"
            ));
        }
        for (turn, sum) in sums.iter().enumerate() {
            let mut wanted = vec![0.0; LENGTH];
            for share in &shares {
                let own = share.get(turn).into_iter().flatten();
                wanted.iter_mut().zip(own).for_each(|(sum, own)| *sum += own);
            }
            trial.equal(&format!("the sum of turn {turn}"), sum, &wanted);
        }
    }
    Ok(())
}
