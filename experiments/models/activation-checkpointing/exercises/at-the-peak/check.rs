use trial::{Result, Trial};

pub fn check(trial: &mut Trial) -> Result<()> {
    let nets: [&[usize]; 6] =
        [&[64], &[8; 8], &[1, 1, 1, 1], &[8, 4, 2], &[2, 4, 8], &[5, 4, 3, 9, 1]];
    for lengths in nets {
        let title = format!("segments of {lengths:?} layers");
        let found = trial.watch(&title, || Ok(mine::at_the_peak(lengths)))?;
        // Counted one by one: which inputs of layers are there, in each segment.
        let mut kept = vec![];
        let mut most = 0;
        let mut start = 0;
        for length in lengths {
            kept.extend((start > 0).then_some(start)); // of the network's own input, none
            let inside = start + 1..start + length;
            most = most.max(kept.len() + inside.len() + 2);
            start += length;
        }
        if found != most {
            trial.wrong(&format!("{title}: {found}, and has to be {most}"));
        }
    }
    Ok(())
}
