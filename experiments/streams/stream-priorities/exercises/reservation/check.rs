use cudarc::driver::{CudaStream, sys};
use trial::{Result, Trial, ensure, kernels_in_a_row, ledger, numbers};

pub fn check(trial: &mut Trial) -> Result<()> {
    let context = trial.context().clone();
    let kernels = trial.kernels(&context)?;
    let queue = context.new_stream()?;
    let [training, answers] = &mine::streams(&context)?;
    let [slow, urgent] = [priority(training)?, priority(answers)?];
    if urgent >= slow {
        trial.wrong(&format!(
            "the answers' stream has priority {urgent}, the training's {slow}, and the lower \
             number goes first"
        ));
    }
    for (steps, length) in [(0, 1), (3, 33), (20, 1000)] {
        let begin = numbers(length, 50);
        let upload = |seed| queue.clone_htod(&numbers(length, seed));
        let on_gpu = (0..steps).map(upload).collect::<Result<Vec<_>, _>>()?;
        let (mut weights, question) = (upload(50)?, upload(60)?);
        trial.name(&weights, &queue, "weights");
        let mut copy = trial.zeros(&queue, length, "copy")?;
        let mut answer = trial.zeros(&queue, length, "answer")?;
        queue.synchronize()?;
        trial.watch(&format!("{steps} steps of {length} weights"), || {
            mine::run(
                [training, answers],
                &kernels,
                &on_gpu,
                &mut weights,
                &mut copy,
                &question,
                &mut answer,
            )
        })?;
        let asked = numbers(length, 60);
        let wanted: Vec<f32> = (0..length).map(|i| begin[i] + asked[i]).collect();
        trial.equal_on_gpu("answer", &queue, &answer, &wanted)?;
        let all =
            |i: usize| (0..steps).map(|seed| numbers(length, seed)[i]).sum::<f32>();
        let trained: Vec<f32> = (0..length).map(|i| begin[i] + all(i)).collect();
        trial.equal_on_gpu("weights", &queue, &weights, &trained)?;

        let ledger = trial.ledger();
        let is_answer =
            |kind: &ledger::Kind| *kind == ledger::Kind::Kernel("add".into());
        let place = ledger.operations.iter().position(|o| is_answer(&o.kind));
        let row = place.map_or(1, |place| kernels_in_a_row(&ledger)[place]);
        trial.size("before", row - 1);
    }
    Ok(())
}

fn priority(stream: &CudaStream) -> Result<i32> {
    let mut priority = 0;
    // SAFETY: the stream is alive, and the number is written before it is read.
    let answer =
        unsafe { sys::cuStreamGetPriority(stream.cu_stream(), &mut priority) };
    ensure!(answer == sys::CUresult::CUDA_SUCCESS, "{answer:?}");
    Ok(priority)
}
