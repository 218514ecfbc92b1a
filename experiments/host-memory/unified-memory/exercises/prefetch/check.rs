use trial::{Gpu, Kind, Ledger, Result, Trial, is_known, numbers};

/// Bytes of the model's page.
const PAGE: usize = trial::ledger::PAGE_BYTES as usize;

pub fn check(trial: &mut Trial) -> Result<()> {
    let Gpu { stream, kernels, .. } = trial.gpu()?;
    for (count, part) in
        [(1, 0..1), (100_000, 20_001..20_777), (300_000, 70_000..200_003)]
    {
        // SAFETY: all of it is written at once.
        let mut array =
            unsafe { stream.context().alloc_unified::<f32>(count, true) }?;
        array.as_mut_slice()?.copy_from_slice(&numbers(count, 0));
        trial.name_host(array.as_slice()?, "array");
        let title = format!("{} of {count} numbers", part.len());
        let found = trial.watch(&title, || {
            mine::brighten(&stream, &kernels, &mut array, part.clone(), [2.0, 4.0])?;
            Ok(array.as_slice()?.to_vec())
        })?;
        let mut wanted = numbers(count, 0);
        wanted[part.clone()].iter_mut().for_each(|number| *number *= 8.0);
        trial.equal("array", &found, &wanted);
        let ledger = trial.ledger();
        trial.size("left", trial::ledger::residence(&ledger).on_gpus.len());
        trial.size("in_flight", in_flight(&ledger));
        trial.size("pages", (4 * part.end - 1) / PAGE - 4 * part.start / PAGE + 1);
        trial.size("page", PAGE);
    }
    Ok(())
}

/// Prefetches that the host has not waited for.
fn in_flight(ledger: &Ledger) -> usize {
    let prefetches =
        ledger.operations.iter().filter(|o| matches!(o.kind, Kind::Prefetch { .. }));
    prefetches.filter(|prefetch| !is_known(ledger, prefetch.number)).count()
}
