use trial::{Result, Trial, most_sent_and_received, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let n = gpus.len();
    for length in [n, n + 1, 999, 20_003] {
        let all: Vec<_> = (0..n).map(|rank| numbers(length, rank)).collect();
        let (mut gradients, mut inboxes, mut sums) = (vec![], vec![], vec![]);
        for (rank, gpu) in gpus.iter().enumerate() {
            let part = length * rank / n..length * (rank + 1) / n;
            let upload = |numbers: &[f32], what| {
                trial.upload(&gpu.stream, numbers, &format!("{what} of GPU {rank}"))
            };
            gradients.push(upload(&all[rank], "gradients")?);
            inboxes.push(upload(&numbers(length, 77), "inbox")?);
            sums.push(upload(&numbers(part.len(), 78), "sum")?);
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
            let what = format!("on GPU {rank}: sum");
            trial.equal_on_gpu(&what, &gpu.stream, &sums[rank], &wanted)?;
        }
        trial.size("length", length);
        trial.size("gpus", n);
        let [_, received] = most_sent_and_received(&trial.ledger(), n);
        trial.size("most", received);
    }
    Ok(())
}
