use mine::Lender;
use trial::{Result, Trial, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let streams = [context.new_stream()?, context.new_stream()?];
    let length = 1000;
    let bias = streams[0].clone_htod(&numbers(length, 9))?;
    // Which stream uses the block in each turn.
    for turns in [&[0, 0, 0, 0, 0][..], &[0, 1], &[1, 0, 1, 0, 1, 0], &[0, 0, 1, 1, 1, 0]]
    {
        let inputs: Vec<_> = (0..turns.len()).map(|n| numbers(length, n)).collect();
        let upload = |input: &Vec<f32>| streams[0].clone_htod(input);
        let batches = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let mut results = inputs.iter().map(upload).collect::<Result<Vec<_>, _>>()?;
        let block = trial.zeros(&streams[0], length, "the block")?;
        context.synchronize()?;
        let mut lender = Lender::new(block);
        let title = format!("turns of streams {turns:?}");
        trial.watch(&title, || {
            for (n, turn) in turns.iter().enumerate() {
                let stream = &streams[*turn];
                let block = lender.take(stream)?;
                let (batch, bias) = (batches[n].as_view(), bias.as_view());
                kernels.add(stream, &batch, &bias, &mut block.as_view_mut())?;
                let result = &mut results[n].as_view_mut();
                kernels.accumulate(stream, &block.as_view(), result)?;
            }
            Ok(())
        })?;
        let bias = numbers(length, 9);
        for (n, (result, input)) in results.iter().zip(&inputs).enumerate() {
            let wanted: Vec<f32> =
                input.iter().zip(&bias).map(|(x, bias)| x + (x + bias)).collect();
            let what = format!("result of turn {n}");
            trial.equal_on_gpu(&what, &streams[0], result, &wanted)?;
        }
        trial.size(
            "moves",
            turns.windows(2).filter(|pair| pair[0] != pair[1]).count(),
        );
    }
    Ok(())
}
