use trial::{Gpu, Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    let bias = numbers(1000, 0);
    let bias_on_gpu = stream.clone_htod(&bias)?;
    for lengths in [vec![], vec![1], vec![33, 1000, 2, 999], vec![500; 100]] {
        let seeds = 1..=lengths.len();
        let inputs: Vec<_> =
            seeds.zip(&lengths).map(|(seed, length)| numbers(*length, seed)).collect();
        let upload = |numbers: &Vec<f32>| stream.clone_htod(numbers);
        let batches = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let mut results = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        stream.synchronize()?;
        let title = format!("{} batches", lengths.len());
        trial.watch(&title, || {
            mine::run(&stream, &kernels, &batches, &bias_on_gpu, &mut results)
        })?;
        for (turn, (result, input)) in results.iter().zip(&inputs).enumerate() {
            let wanted: Vec<f32> =
                input.iter().zip(&bias).map(|(x, bias)| x + (x + bias)).collect();
            let what = format!("results[{turn}]");
            trial.equal_on_gpu(&what, &stream, result, &wanted)?;
        }
        trial.size("batches", lengths.len());
    }
    Ok(())
}
