use trial::{Result, Trial};

pub fn check(trial: &mut Trial) -> Result<()> {
    let nets = [(1, 2), (64, 65), (64, 200), (64, 16), (64, 12), (50, 11), (10, 5)];
    for (layers, cap) in nets {
        let title = format!("{layers} layers, {cap} activations at most");
        let starts = trial.watch(&title, || Ok(mine::starts(layers, cap)))?;
        let ordered = starts.windows(2).all(|pair| pair[0] < pair[1]);
        if starts.first() != Some(&0) || !ordered || starts.iter().any(|s| *s >= layers) {
            let what = "has to begin with 0, and go on with ever higher layers";
            trial.wrong(&format!("{title}: {starts:?} {what}"));
            continue;
        }
        let ends = starts.iter().skip(1).chain([&layers]);
        let lengths: Vec<usize> =
            starts.iter().zip(ends).map(|(start, end)| end - start).collect();
        let there = lengths.iter().enumerate().map(|(j, n)| j + n + 1);
        let (most, segment) = there.zip(0..).max().unwrap_or_default();
        if most > cap {
            let what = format!(
                "{most} activations are there at a time, in segment {segment} of {}",
                lengths.len() - 1
            );
            trial.wrong(&format!("{title}: {what} (lengths {lengths:?})"));
        }
        // The last segment is computed once, and of the others the last layer is.
        let again: usize = lengths.iter().rev().skip(1).map(|n| n - 1).sum();
        if again > 0 && cap > layers {
            let what = "layers are computed again, and all fit";
            trial.wrong(&format!("{title}: {again} {what}"));
        }
    }
    Ok(())
}
