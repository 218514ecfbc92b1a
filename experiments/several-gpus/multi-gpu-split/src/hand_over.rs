//! What a thread costs: threads that only spin for some time, without any GPU.

use std::time::{Duration, Instant};

use lab::{Case, Lab, Result};
use rayon::prelude::*;

use crate::team::Team;

// ANCHOR: hand_over
/// What it takes to wake all threads up, and to hear that they are done.
pub(crate) fn hand_over(lab: &mut Lab, team: &Team) -> Result<()> {
    let gpus = team.workers.len();
    for microseconds in [50, 500, 5000] {
        let pass = |_| {
            let start = Instant::now();
            while start.elapsed() < Duration::from_micros(microseconds) {
                std::hint::spin_loop();
            }
        };
        let case = team.sized(Case::new("hand_over"), gpus);
        case.with("microseconds", microseconds)
            .time_on_host(lab, || {
                team.pools[gpus - 1]
                    .install(|| (0..gpus).into_par_iter().for_each(pass));
                Ok(())
            })?
            .record(lab)?;
    }
    Ok(())
}
// ANCHOR_END: hand_over
