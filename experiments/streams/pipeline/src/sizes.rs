//! How large a batch: the same bytes in fewer or more batches. In the model a
//! step's time depends only on its bytes.

use lab::{Case, Lab, Result};

use crate::{ByEngine, DepthFirst, Pipeline, Plan};

pub(crate) fn measure(
    lab: &mut Lab,
    gpu: &mut Pipeline,
    plan: &Plan,
    stages: [f64; 3],
) -> Result<()> {
    for batches in [10, 15, 30, 120, 480, 1920, 7680] {
        let bytes = plan.bytes * plan.batches / batches;
        let part = plan.batches as f64 / batches as f64;
        let plan = Plan { bytes, batches, ..*plan };
        let bound = plan.bound(stages.map(|seconds| seconds * part));
        for (way, pairs, order) in [
            ("three_streams", 3, DepthFirst),
            ("eight_streams", 8, DepthFirst),
            ("by_engine", 3, ByEngine),
        ] {
            let case = Case::new("chunks").with("way", way);
            let case = case.model("bound_seconds", bound);
            let plan = Plan { pairs, order, ..plan };
            crate::measure(lab, gpu, &plan, case)?;
        }
    }
    Ok(())
}
