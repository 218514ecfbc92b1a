use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let n = gpus.len();
    for (count, steps) in [(n, 1), (5 * n + 1, 3), (8003, 8)] {
        let mut wanted = numbers(count, 5);
        // The last piece gets what is left over.
        let begin = |rank: usize| if rank < n { rank * (count / n) } else { count };
        let piece = |rank: usize| {
            let edge = wanted.get(begin(rank + 1)).copied().unwrap_or(0.0);
            [&wanted[begin(rank)..begin(rank + 1)], &[edge]].concat()
        };
        let (mut now, mut next) = (vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let name = |buffer| format!("buffer {buffer} of GPU {rank}");
            let piece = piece(rank);
            now.push(trial.upload(&gpu.stream, &piece, &name(0))?);
            next.push(trial.zeros(&gpu.stream, piece.len(), &name(1))?);
            gpu.stream.synchronize()?;
        }
        let title = format!("{steps} steps of {count} numbers on {n} GPUs");
        trial.watch(&title, || mine::smooth(&gpus, &mut now, &mut next, steps))?;
        for _ in 0..steps {
            let right = |i: usize| wanted.get(i + 1).copied().unwrap_or(0.0);
            wanted = (0..count).map(|i| wanted[i] + right(i)).collect();
        }
        let mut found = vec![];
        for (gpu, now) in gpus.iter().zip(&now) {
            found.extend(gpu.stream.clone_dtoh(&now.slice(..now.len() - 1))?);
        }
        trial.equal("numbers", &found, &wanted);
        trial.size("gpus", n);
        trial.size("steps", steps);
    }
    Ok(())
}
