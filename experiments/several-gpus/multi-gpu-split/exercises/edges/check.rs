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
        let now = gpus.iter().enumerate();
        let now = now.map(|(rank, gpu)| gpu.stream.clone_htod(&piece(rank)));
        let mut now = now.collect::<Result<Vec<_>, _>>()?;
        let next = gpus.iter().zip(&now);
        let next = next.map(|(gpu, now)| gpu.stream.alloc_zeros(now.len()));
        let mut next = next.collect::<Result<Vec<_>, _>>()?;
        for (rank, gpu) in gpus.iter().enumerate() {
            trial.name(&now[rank], &gpu.stream, &format!("buffer 0 of GPU {rank}"));
            trial.name(&next[rank], &gpu.stream, &format!("buffer 1 of GPU {rank}"));
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
