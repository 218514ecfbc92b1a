use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let stream = trial.context().new_stream()?;
    for lengths in [vec![1], vec![33, 0, 1, 70_001], vec![100; 200]] {
        let lengths = lengths.iter().enumerate();
        let pieces: Vec<_> =
            lengths.map(|(seed, length)| numbers(*length, seed)).collect();
        let title = format!("{} pieces", pieces.len());
        let all = trial.watch(&title, || mine::upload(&stream, &pieces))?;
        trial.equal_on_gpu("all", &stream, &all, &pieces.concat())?;
    }
    Ok(())
}
