//! The chapter's batch, 10,000 floats: when is all done, and when has the host queued it?

use std::time::Instant;

use lab::{Case, Clock, Lab, Result};

use crate::{ByEngine, DepthFirst, Memory, Pipeline, Plan, WORD_BYTES};

pub(crate) fn measure(lab: &mut Lab, gpu: &mut Pipeline, plan: &Plan) -> Result<()> {
    for (pairs, order) in
        [(1, DepthFirst), (2, DepthFirst), (3, DepthFirst), (3, ByEngine)]
    {
        let bytes = WORD_BYTES * 10_000;
        let plan = Plan { bytes, pairs, order, rounds: 1, ..*plan };
        let case = |until| Case::new("chapter_batch").with("until", until);
        crate::measure(lab, gpu, &plan, case("done"))?;
        let pageable = Plan { host: Memory::Pageable, ..plan };
        crate::measure(lab, gpu, &pageable, case("done"))?;
        gpu.describe(case("queued"), &plan)
            .time_turns(lab, Clock::Host, || {
                let start = Instant::now();
                gpu.queue(&plan, &[])?;
                Ok((start.elapsed().as_secs_f64(), gpu.wait()?))
            })?
            .record(lab)?;
    }
    Ok(())
}
