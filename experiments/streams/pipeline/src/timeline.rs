//! When each step runs: events around the steps of the first batches.

use std::time::Instant;

use cudarc::driver::{CudaEvent, DriverError, sys};
use lab::timeline::span;
use lab::{Case, Clock, Lab, Result, Span};

use crate::{Pipeline, Plan, Step};

/// Batches on a timeline.
const DRAWN: usize = 9;

/// Events before the first step of a batch and after each of the three.
pub(crate) type Marks = [CudaEvent; Step::ALL.len() + 1];

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Pipeline, plan: &Plan) -> Result<()> {
    let timed = Some(sys::CUevent_flags::CU_EVENT_DEFAULT);
    let event = || lab.context().new_event(timed);
    let marks = (0..DRAWN).map(|_| Ok([event()?, event()?, event()?, event()?]));
    let marks: Vec<Marks> = marks.collect::<Result<_>>()?;
    gpu.clear(plan);
    let case = gpu.describe(Case::new("timeline"), plan);
    let timed = case.time_turns(lab, Clock::Host, || {
        let start = Instant::now();
        gpu.queue(plan, &marks)?;
        gpu.wait()?;
        Ok((start.elapsed().as_secs_f64(), spans(&marks, plan.pairs)?))
    })?;
    timed.spans().checked(gpu.check(plan)?).record(lab)
}

/// What ran when, since the first event. A stream may pass the event before a step while
/// the engine is still busy with an earlier batch; then the step starts when that is done.
/// Batches need not be done in their order.
fn spans(marks: &[Marks], pairs: usize) -> Result<Vec<Span>> {
    let since = |event| -> Result<f64, DriverError> {
        Ok(f64::from(marks[0][0].elapsed_ms(event)?) * 1e-3)
    };
    let mut spans = vec![];
    let mut ends = [const { vec![] }; Step::ALL.len()];
    for (batch, events) in marks.iter().enumerate() {
        for (step, ends) in Step::ALL.into_iter().zip(&mut ends) {
            let (before, after) =
                (since(&events[step as usize])?, since(&events[step as usize + 1])?);
            let lane = format!("stream {}", batch % pairs);
            let label = format!("{} {batch}", step.name());
            let earlier = ends.iter().copied().filter(|end| *end <= after);
            spans.push(span(lane, label, [earlier.fold(before, f64::max), after]));
            ends.push(after);
        }
    }
    Ok(spans)
}
