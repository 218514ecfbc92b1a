use trial::{Gpu, Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for (count, layers, length) in [(1, 1, 1), (3, 5, 33), (50, 20, 100)] {
        let weights: Vec<_> =
            (0..layers).map(|seed| numbers(length, seed)).collect();
        let inputs: Vec<_> =
            (0..count).map(|seed| numbers(length, 40 + seed)).collect();
        let upload = |numbers: &Vec<f32>| stream.clone_htod(numbers);
        let on_gpu = weights.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let batches = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let results = inputs.iter().map(|_| stream.alloc_zeros(length));
        let mut results = results.collect::<Result<Vec<_>, _>>()?;
        let mut x = trial.zeros(&stream, length, "x")?;
        stream.synchronize()?;
        trial.watch(&format!("{count} batches, {layers} layers"), || {
            mine::run(&stream, &kernels, &on_gpu, &batches, &mut x, &mut results)
        })?;
        for (turn, result) in results.iter().enumerate() {
            let all = |i: usize| weights.iter().map(|layer| layer[i]).sum::<f32>();
            let wanted: Vec<f32> =
                (0..length).map(|i| inputs[turn][i] + all(i)).collect();
            let what = format!("results[{turn}]");
            trial.equal_on_gpu(&what, &stream, result, &wanted)?;
        }
        trial.size("batches", count);
        trial.size("layers", layers);
    }
    Ok(())
}
