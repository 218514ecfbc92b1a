//! End to end: allocate, let a kernel write every word, free, wait. In steady state, and
//! from pools that are emptied before the clock runs. And the chapter's loop, as printed
//! and with a kernel where it says "use".

use std::time::Instant;

use lab::{Case, Clock, Lab, Result};

use crate::device::User;
use crate::source::{kept, sources};
use crate::{ROUNDS, WORD, WORDS};

pub(crate) fn rounds(lab: &mut Lab, user: &User, words: usize) -> Result<()> {
    let stream = &user.stream;
    for mut source in sources(stream)?.into_iter().chain([kept(stream, words)?]) {
        let states = if source.can_be_emptied() { 2 } else { 1 };
        for (state, empties) in &[("steady", false), ("first", true)][..states] {
            let case = Case::new("round").with("kind", source.kind());
            let case = case.with("state", *state).with("bytes", words * WORD);
            let mut round = 0;
            let turn = || {
                if *empties {
                    source.empty(stream)?;
                }
                round += 1;
                let start = Instant::now();
                source.once(stream, words, |at| user.fill(at, words, round))?;
                stream.synchronize()?;
                Ok((start.elapsed().as_secs_f64(), ()))
            };
            let timed =
                case.writes(words * WORD).time_turns(lab, Clock::Host, turn)?;
            timed.checked(user.check(&mut source, words)?).record(lab)?;
        }
    }
    Ok(())
}

pub(crate) fn chapters_loop(lab: &mut Lab, user: &User) -> Result<()> {
    let (stream, rounds) =
        (&user.stream, if lab.quick() { ROUNDS / 200 } else { ROUNDS });
    for (work, fills) in [("none", false), ("kernel", true)] {
        for mut source in sources(stream)?.into_iter().chain([kept(stream, WORDS)?])
        {
            let case = Case::new("chapters_loop").with("kind", source.kind());
            let case = case.with("rounds", rounds).with("bytes", WORDS * WORD);
            let timed = case.with("work", work).time_on_host(lab, || {
                for round in 0..rounds {
                    source.once(stream, WORDS, |at| match fills {
                        true => user.fill(at, WORDS, round as u32),
                        false => Ok(()),
                    })?;
                }
                Ok(stream.synchronize()?)
            })?;
            timed.checked(user.check(&mut source, WORDS)?).record(lab)?;
        }
    }
    Ok(())
}
