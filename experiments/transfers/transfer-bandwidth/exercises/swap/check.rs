use trial::{Kind, Ledger, Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let [up, down] = [context.new_stream()?, context.new_stream()?];
    for count in [1, 33, 250_007] {
        let [old, new] = [0, 1].map(|seed| numbers(count, seed));
        let source = pinned(&context, count, |i| new[i])?;
        let mut home = pinned(&context, count, |_| 0.0)?;
        let mut on_gpu = up.clone_htod(&old)?;
        context.synchronize()?;
        trial.name(&on_gpu, &up, "the array");
        trial.name_host(home.as_slice()?, "home");
        let (source, place) = (source.as_slice()?, home.as_mut_slice()?);
        trial.watch(&format!("{count} numbers"), || {
            mine::swap([&up, &down], &mut on_gpu, place, source)
        })?;
        trial.equal("home", home.as_slice()?, &old);
        trial.equal("on_gpu", &up.clone_dtoh(&on_gpu)?, &new);
        trial.size("waited", known_downloads(&trial.ledger()));
    }
    Ok(())
}

/// How many downloads the host has waited for: it knows the order of a stream.
fn known_downloads(ledger: &Ledger) -> usize {
    let operations = &ledger.operations;
    let stream = |number: usize| operations[number - 1].stream;
    let is_known = |number: usize| {
        let mut waits = ledger.waits.iter();
        waits.any(|w| w.operation >= number && stream(w.operation) == stream(number))
    };
    let downloads = operations.iter().filter(|o| o.kind == Kind::Download);
    downloads.filter(|o| is_known(o.number)).count()
}
