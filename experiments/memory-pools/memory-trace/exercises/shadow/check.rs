use trial::{Gpu, Result, Trial, most_bytes, numbers};

const LAYERS: usize = 6;

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for count in [1, 1000, 10_001] {
        let inputs: Vec<_> = (0..=LAYERS).map(|seed| numbers(count, seed)).collect();
        let biases = inputs[1..].iter().map(|bias| stream.clone_htod(bias));
        let biases = biases.collect::<Result<Vec<_>, _>>()?;
        stream.synchronize()?;
        let title = format!("{LAYERS} layers of {count} numbers");
        let input = &inputs[0];
        let output = trial
            .watch(&title, || mine::forward(&stream, &kernels, input, &biases))?;
        let wanted: Vec<_> =
            (0..count).map(|i| inputs.iter().map(|a| a[i]).sum()).collect();
        trial.equal_on_gpu("output", &stream, &output, &wanted)?;
        trial.size("count", count);
        trial.size("layers", LAYERS);
        trial.size("most_bytes", most_bytes(&trial.ledger()));
    }
    Ok(())
}
