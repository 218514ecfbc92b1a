//! The trap: what pools hold after 1,000 sizes that differ a little, and what is in the
//! "zeros" that the chapter's pool hands out.

use std::time::Instant;

use lab::{Case, Clock, Lab, Result};

use crate::device::User;
use crate::source::{Source, sources};
use crate::{ROUNDS, WORD, WORDS};

pub(crate) fn varying_sizes(lab: &mut Lab, user: &User) -> Result<()> {
    let stream = &user.stream;
    // The first two hold nothing.
    for mut source in sources(stream)?.into_iter().skip(2) {
        let case = Case::new("varying_sizes").with("kind", source.kind());
        let case = case.with("rounds", ROUNDS).with("bytes", WORDS * WORD);
        if lab.free_bytes()? < 2 * ROUNDS * WORDS * WORD {
            lab.skip(case, "the chapter's pool would need more memory");
            continue;
        }
        let timed = case.time_turns(lab, Clock::Host, || {
            source.empty(stream)?;
            let start = Instant::now();
            for round in 0..ROUNDS {
                let words = WORDS + round;
                source
                    .once(stream, words, |at| user.fill(at, words, round as u32))?;
            }
            stream.synchronize()?;
            Ok((start.elapsed().as_secs_f64(), source.held_bytes()?))
        })?;
        timed
            .note(|case, held_bytes| {
                let case = case.model("held_bytes", *held_bytes as f64);
                let Source::Chapter(pool) = &mut source else { return Ok(case) };
                let zeros = stream.clone_dtoh(&pool.alloc(stream, WORDS)?)?;
                let stale = zeros.iter().filter(|word| **word != 0).count();
                Ok(case.model("stale_words", stale as f64))
            })?
            .record(lab)?;
    }
    Ok(())
}
