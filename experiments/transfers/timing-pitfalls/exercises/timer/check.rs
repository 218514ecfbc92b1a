use trial::{Gpu, Kind, Ledger, Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for count in [1, 100_003] {
        let data = numbers(count, 0);
        let wanted: Vec<_> = data.iter().map(|number| 2.0 * number).collect();
        let title = format!("{count} numbers");
        let (product, _) =
            trial.watch(&title, || mine::timed(&stream, &kernels, &data))?;
        trial.equal_on_gpu("product", &stream, &product, &wanted)?;
        told(trial, &trial.ledger());
    }
    Ok(())
}

/// Tells what two events in the stream of the kernel enclose.
fn told(trial: &mut Trial, ledger: &Ledger) {
    let operations = &ledger.operations;
    let is_kernel = |kind: &Kind| matches!(kind, Kind::Kernel(_));
    let stream = operations.iter().find(|o| is_kernel(&o.kind)).map(|o| o.stream);
    let operations = operations.iter().filter(|o| Some(o.stream) == stream);
    let operations: Vec<_> = operations.collect();
    let marks: Vec<_> =
        operations.iter().filter(|o| o.kind == Kind::Record).collect();
    let (mut enclosed, mut waited) = (vec![], 0);
    if let [start, end] = marks[..] {
        let inside = start.number + 1..end.number;
        enclosed =
            operations.iter().filter(|o| inside.contains(&o.number)).collect();
        waited =
            ledger.waits.iter().filter(|wait| wait.operation >= end.number).count();
    }
    let kernels = enclosed.iter().filter(|o| is_kernel(&o.kind)).count();
    trial.size("kernels", kernels);
    trial.size("others", enclosed.len() - kernels);
    trial.size("waited", waited);
}
