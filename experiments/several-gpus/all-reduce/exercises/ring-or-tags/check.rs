use mine::{Way, quicker};
use trial::{Result, Trial};

pub fn check(trial: &mut Trial) -> Result<()> {
    // GPUs; KB; a wait in microseconds; GB/s; the quicker way, and what both take
    for (gpus, kilobytes, wait, rate, wanted, why) in [
        (4.0, 1.0, 2.0, 300.0, Way::Tags, "12.0 and 2.0 µs"),
        (4.0, 600.0, 2.0, 300.0, Way::Tags, "15.0 and 14.0 µs"),
        (4.0, 700.0, 2.0, 300.0, Way::Ring, "15.5 and 16.0 µs"),
        (2.0, 500.0, 2.0, 300.0, Way::Tags, "5.7 and 5.3 µs"),
        (2.0, 700.0, 2.0, 300.0, Way::Ring, "6.3 and 6.7 µs"),
        (8.0, 300.0, 2.0, 300.0, Way::Tags, "29.8 and 16.0 µs"),
        (8.0, 300.0, 0.5, 300.0, Way::Ring, "8.8 and 14.5 µs"),
        (4.0, 1e6, 2.0, 300.0, Way::Ring, "5,012 and 20,002 µs"),
        (1.0, 1.0, 2.0, 300.0, Way::Ring, "0.0 and 2.0 µs"),
    ] {
        let title =
            format!("{gpus} GPUs, {kilobytes} KB, {wait} µs a wait, {rate} GB/s");
        let found = trial.watch(&title, || {
            Ok(quicker(gpus, kilobytes * 1e3, wait * 1e-6, rate * 1e9))
        })?;
        if found != wanted {
            trial.wrong(&format!(
                "{title}: {found:?}, and has to be {wanted:?} (ring and tags take {why})"
            ));
        }
    }
    Ok(())
}
