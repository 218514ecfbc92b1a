use trial::{
    Kind, Ledger, Result, Trial, numbers, pinned_download_bytes, pinned_upload_bytes,
};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let [first, second] = [context.new_stream()?, context.new_stream()?];
    let shapes = [
        ([vec![1], vec![2]], 1),
        ([vec![33, 1, 70], vec![5; 9]], 0),
        ([vec![250; 200], vec![500; 100]], 4),
    ];
    for (lengths, steps) in shapes {
        // Powers of two, so that results are exact.
        let factors: Vec<_> =
            (0..steps).map(|step| [2.0, 0.5, 4.0][step % 3]).collect();
        let scaled =
            |number: &f32| factors.iter().fold(*number, |n, factor| n * factor);
        let make = |lengths: &Vec<usize>| {
            let lengths = lengths.iter().enumerate();
            let arrays = lengths.map(|(seed, length)| numbers(*length, seed));
            arrays.collect::<Vec<_>>()
        };
        let [mut a, mut b] = lengths.each_ref().map(make);
        let arrays = a.len() + b.len();
        let all = [&a[..], &b].concat().concat();
        let wanted: Vec<_> = all.iter().map(scaled).collect();
        let title = format!("{arrays} arrays, {steps} factors");
        trial.watch(&title, || {
            mine::scale([&first, &second], &kernels, [&mut a, &mut b], &factors)
        })?;
        trial.equal("numbers", &[a, b].concat().concat(), &wanted);
        let ledger = trial.ledger();
        let pinned = pinned_upload_bytes(&ledger) + pinned_download_bytes(&ledger);
        trial.size("steps", steps);
        trial.size("bytes", 4 * all.len());
        trial.size("pinned_bytes", pinned);
        clock(trial, &ledger);
    }
    Ok(())
}

/// Tells how many events stand right beside the first copy, and how many elsewhere in its stream.
fn clock(trial: &mut Trial, ledger: &Ledger) {
    let first = ledger.operations.iter().find(|o| o.kind == Kind::Upload);
    let Some(first) = first else { return };
    // cudarc waits before it uses pinned memory.
    let own = ledger.operations.iter().filter(|o| o.stream == first.stream);
    let own: Vec<_> = own.filter(|o| o.kind != Kind::Wait).collect();
    let is_event =
        |place: usize| own.get(place).is_some_and(|o| o.kind == Kind::Record);
    let copy = own.iter().position(|o| o.number == first.number).unwrap_or(0);
    let before = copy.checked_sub(1).filter(|place| is_event(*place));
    let behind = Some(copy + 1).filter(|place| is_event(*place));
    let beside = before.iter().chain(&behind).count();
    let all = own.iter().filter(|o| o.kind == Kind::Record).count();
    trial.size("beside", beside);
    trial.size("elsewhere", all - beside);
}
