use trial::{Kind, Result, Trial, is_known, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let [up, down] = [context.new_stream()?, context.new_stream()?];
    for count in [1, 33, 250_007] {
        let [old, new] = [0, 1].map(|seed| numbers(count, seed));
        let source = pinned(&context, count, |i| new[i])?;
        let mut home = pinned(&context, count, |_| 0.0)?;
        let mut on_gpu = trial.upload(&up, &old, "the array")?;
        context.synchronize()?;
        trial.name_host(home.as_slice()?, "home");
        let (source, place) = (source.as_slice()?, home.as_mut_slice()?);
        trial.watch(&format!("{count} numbers"), || {
            mine::swap([&up, &down], &mut on_gpu, place, source)
        })?;
        trial.equal("home", home.as_slice()?, &old);
        trial.equal_on_gpu("on_gpu", &up, &on_gpu, &new)?;
        let ledger = trial.ledger();
        let downloads =
            ledger.operations.iter().filter(|o| o.kind == Kind::Download);
        let waited = downloads.filter(|o| is_known(&ledger, o.number)).count();
        trial.size("waited", waited);
    }
    Ok(())
}
