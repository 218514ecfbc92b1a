// Trains in one stream, and answers a question in another one.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use trial::{Kernels, Result};

/// A stream for the training, and one for answers.
pub fn streams(context: &Arc<CudaContext>) -> Result<[Arc<CudaStream>; 2]> {
    Ok([context.new_stream()?, context.new_stream()?])
}

pub fn run(
    [training, answers]: [&Arc<CudaStream>; 2],
    kernels: &Kernels,
    steps: &[CudaSlice<f32>], // what each step adds to the weights
    weights: &mut CudaSlice<f32>,
    copy: &mut CudaSlice<f32>,
    question: &CudaSlice<f32>,
    answer: &mut CudaSlice<f32>,
) -> Result<()> {
    training.memcpy_dtod(weights, copy)?;
    for step in steps {
        kernels.accumulate(training, &step.as_view(), &mut weights.as_view_mut())?;
    }
    answers.join(training)?; // the copy is there
    kernels.add(
        answers,
        &copy.as_view(),
        &question.as_view(),
        &mut answer.as_view_mut(),
    )
}
