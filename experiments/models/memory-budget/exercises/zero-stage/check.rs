use trial::{Result, Trial};

pub fn check(trial: &mut Trial) -> Result<()> {
    // billions of parameters, GPUs, GB of activations, GB of a card; the first stage
    for (billions, gpus, activations, card, wanted) in [
        (1.0, 1.0, 4.0, 24.0, Some(0)),
        (7.0, 4.0, 10.0, 80.0, Some(1)),  // 28 + 21 + 10 = 59 of 72
        (7.0, 4.0, 20.0, 80.0, Some(1)),  // 69, of 72
        (7.0, 4.0, 25.0, 80.0, Some(2)),  // 74; then 14 + 3.5 + 21 + 25 = 63.5
        (7.0, 4.0, 40.0, 80.0, Some(3)),  // 78.5; then 28 + 40 = 68
        (7.0, 4.0, 45.0, 80.0, None),     // 73
        (70.0, 8.0, 1.0, 141.0, None),    // 140 and no room
        (70.0, 16.0, 20.0, 141.0, Some(3)), // 70 + 20
    ] {
        let title = format!(
            "{billions} billion parameters, {gpus} GPUs of {card} GB, activations {activations} GB"
        );
        let found = trial.watch(&title, || {
            let (parameters, giga) = (billions * 1e9, 1e9);
            Ok(mine::first_stage(parameters, gpus, activations * giga, card * giga))
        })?;
        if found != wanted {
            trial.wrong(&format!("{title}: {found:?}, and has to be {wanted:?}"));
        }
    }
    Ok(())
}
