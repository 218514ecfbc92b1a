use trial::{Gpu, Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for count in [1, 1000, 100_003] {
        let (a, b) = (numbers(count, 0), numbers(count, 1));
        let wanted: Vec<_> = a.iter().zip(&b).map(|(a, b)| a + b).collect();
        let title = format!("{count} numbers");
        let add = kernels.add_function();
        let sums = trial.watch(&title, || mine::sums(&stream, add, &a, &b))?;
        trial.equal("sums", &sums, &wanted);
    }
    Ok(())
}
