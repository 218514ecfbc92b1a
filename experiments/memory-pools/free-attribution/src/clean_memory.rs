//! Clean memory runs out: the rounds without a rest. Nothing is timed before twice the
//! GPU's memory was freed; how many turns are fast until then?

use lab::{Case, Clock, Lab, Result};

use crate::allocator::Allocator;
use crate::rounds::{Bench, ROUNDS, Schedule, Until};

pub(crate) fn sustained(
    lab: &mut Lab,
    bench: &mut Bench,
    allocators: &[(&str, Allocator)],
) -> Result<()> {
    let bytes = bench.words * size_of::<u32>();
    for (name, allocator) in allocators {
        let mut turn =
            || bench.rounds(allocator, Schedule::Waiting, Until::Done, false);
        let mut turns = vec![];
        for _ in 0..2 * lab.free_bytes()? / (ROUNDS * bytes) {
            turns.push(turn()?.0);
        }
        let fast = turns.iter().take_while(|turn| **turn < 2.0 * turns[0]).count();
        let case = Case::new("sustained").with("allocator", *name);
        let case = case.with("bytes", bytes).model("fast_turns", fast as f64);
        let timed =
            case.writes(ROUNDS * bytes).time_turns(lab, Clock::Host, turn)?;
        timed
            .checked(bench.check_rounds(allocator, Schedule::Waiting)?)
            .spans()
            .record(lab)?;
    }
    Ok(())
}
