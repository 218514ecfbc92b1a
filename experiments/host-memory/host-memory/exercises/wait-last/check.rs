use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    for (count, arrays) in [(1, 1), (1000, 2), (50_000, 4)] {
        let factor = 4.0;
        let streams = (0..arrays).map(|_| context.new_stream());
        let streams = streams.collect::<Result<Vec<_>, _>>()?;
        let data: Vec<_> = (0..arrays).map(|seed| numbers(count, seed)).collect();
        let sources = data.iter().map(|data| pinned(&context, count, |i| data[i]));
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let inputs = sources.iter().map(|source| source.as_slice());
        let inputs = inputs.collect::<Result<Vec<_>, _>>()?;
        let new = |n| trial.zeros(&streams[0], count, &format!("array {n}"));
        let mut gpu = (0..arrays).map(new).collect::<Result<Vec<_>>>()?;
        context.synchronize()?;
        let results = trial
            .watch(&format!("{arrays} arrays of {count} numbers"), || {
                mine::run(&streams, &kernels, &inputs, &mut gpu, factor)
            })?;
        for (number, data) in data.iter().enumerate() {
            let wanted: Vec<_> = data.iter().map(|n| factor * n).collect();
            let found = results.get(number).map_or(&[][..], |result| result);
            trial.equal(&format!("result {number}"), found, &wanted);
        }
        trial.size("arrays", arrays);
    }
    Ok(())
}
