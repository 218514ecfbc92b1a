use trial::{
    Gpu, Result, Trial, numbers, pinned_download_bytes, pinned_upload_bytes,
};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for (count, steps) in [(1, 1), (33, 3), (5001, 6)] {
        let [mut field, weights] = [0, 1].map(|seed| numbers(count, seed));
        let step =
            |field: &mut [f32]| field.iter_mut().for_each(|number| *number += 1.0);
        let mut expected = field.clone();
        let (mut wanted, mut shown) = (vec![], vec![]);
        for _ in 0..steps {
            step(&mut expected);
            let sums = expected.iter().zip(&weights).map(|(a, b)| a + b);
            let sums: Vec<f32> = sums.collect();
            wanted.push((sums.iter().sum::<f32>(), sums));
        }
        let title = format!("{count} numbers, {steps} steps");
        trial.watch(&title, || {
            let show = |sums: &[f32], total: f32| shown.push((total, sums.to_vec()));
            mine::run(&stream, &kernels, &weights, &mut field, steps, step, show)
        })?;
        if shown.len() != steps {
            let times = shown.len();
            trial.wrong(&format!("{times} steps are shown, and not {steps}"));
        }
        for (number, (shown, wanted)) in shown.iter().zip(&wanted).enumerate() {
            trial.equal(&format!("the sums of step {number}"), &shown.1, &wanted.1);
            trial.equal(
                &format!("the total of step {number}"),
                &[shown.0],
                &[wanted.0],
            );
        }
        let ledger = trial.ledger();
        trial.size("pinned_up", pinned_upload_bytes(&ledger));
        trial.size("pinned_down", pinned_download_bytes(&ledger));
        trial.size("bytes", 4 * count);
        trial.size("steps", steps);
    }
    Ok(())
}
