use trial::{Kind, Ledger, Result, Trial, numbers, pinned, pinned_upload_bytes};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let stream = context.new_stream()?;
    for (count, half) in [(1, 16), (40, 16), (10_007, 1000)] {
        let source = numbers(count, 0);
        let new = || pinned(&context, half, |_| 0.0);
        let [mut first, mut second] = [new()?, new()?];
        let halves = [first.as_mut_slice()?, second.as_mut_slice()?];
        for (half, name) in halves.iter().zip(["half 0", "half 1"]) {
            trial.name_host(half, name);
        }
        let mut target = stream.alloc_zeros(count)?;
        context.synchronize()?;
        let title = format!("{count} numbers through halves of {half}");
        trial
            .watch(&title, || mine::upload(&stream, &source, halves, &mut target))?;
        trial.equal_on_gpu("target", &stream, &target, &source)?;
        trial.size("count", count);
        let ledger = trial.ledger();
        trial.size("staged_bytes", pinned_upload_bytes(&ledger));
        trial.size("overlapped", overlapped(&ledger));
    }
    Ok(())
}

/// How many copies were queued when the host did not know yet that the copy before was done.
fn overlapped(ledger: &Ledger) -> usize {
    let uploads = ledger.operations.iter().filter(|o| o.kind == Kind::Upload);
    let uploads: Vec<_> = uploads.collect();
    let is_done = |number: usize, queued: usize| {
        ledger
            .waits
            .iter()
            .any(|wait| wait.operation >= number && wait.queued < queued)
    };
    let pairs = uploads.windows(2);
    pairs.filter(|pair| !is_done(pair[0].number, pair[1].number)).count()
}
