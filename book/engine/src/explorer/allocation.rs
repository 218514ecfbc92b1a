//! Calls that take memory from the driver's pool, give it back, and wait.
//!
//! All sizes are multiples of 32 MiB, the step in which the pool of the reference machine grows
//! and rounds its cap up: that of the crate `streams`, 2 MiB, then makes no difference.

use ledger::Kind;
use streams::pool::{Block, Settings};
use streams::{Pool, queue};

use super::picture::{Anchor, COMPUTE, INK, MEMORY, MUTED, Picture};
use super::program::{Program, operation};
use super::{Case, Drawn, Explorer, Knob, State, Values, case, grouped};

pub(super) const EXPLORER: Explorer = Explorer {
    name: "pool",
    title: "What a pool of the driver holds after each call",
    task: "The calls are `a`, allocate, `f`, free what was allocated first, and `w`, wait. How often \
        does the pool ask the GPU for memory? Which of the three calls empties it? Change as \
        little as you can, so that it asks only once.",
    finding: "Not the free but the wait empties it: what the pool holds above its threshold goes \
        back then, and the threshold is 0 unless a program sets it. One allocation is enough of \
        a threshold; or no wait between the rounds. A cap makes it ask less only by making \
        allocations fail, where more would be in use than it allows.",
    knobs: &[
        Knob {
            name: "calls",
            label: "calls",
            first: "a f w a f w a f w",
            values: Values::Text {
                examples: &["a f a f a f w", "a a f f w a", "a f w a w f w", "a w a w f w f w"],
                slider: None,
                words: &[("a", "allocate"), ("f", "free"), ("w", "wait")],
            },
        },
        Knob {
            name: "size",
            label: "size of an allocation",
            first: "256",
            values: Values::Choice(&[
                ("32", "32 MiB"),
                ("64", "64 MiB"),
                ("128", "128 MiB"),
                ("256", "256 MiB"),
            ]),
        },
        Knob {
            name: "threshold",
            label: "release threshold",
            first: "0",
            values: Values::Choice(&[
                ("0", "0"),
                ("256", "256 MiB"),
                ("512", "512 MiB"),
                ("1024", "1 GiB"),
            ]),
        },
        Knob {
            name: "cap",
            label: "cap",
            first: "0",
            values: Values::Choice(&[("0", "none"), ("256", "256 MiB"), ("512", "512 MiB")]),
        },
    ],
    show,
};

const MIB: u64 = 1 << 20;
const MOST_CALLS: usize = 24;

/// What the pool holds after a call.
struct After {
    call: char,
    used: u64,
    reserved: u64,
    /// MiB that it asked the GPU for, or gave back.
    asked: u64,
    given: u64,
}

fn show(state: &State<'_>) -> Result<Drawn, String> {
    let text = state.text("calls")?;
    let calls: Vec<char> = text.chars().filter(|call| !call.is_whitespace()).collect();
    if let Some(other) = calls.iter().find(|call| !"afw".contains(**call)) {
        return Err(format!("`{other}` is no call: `a` allocates, `f` frees, `w` waits."));
    }
    if calls.len() > MOST_CALLS {
        return Err(format!("{} calls are more than the {MOST_CALLS} that fit.", calls.len()));
    }
    let bytes = u64::from(state.number("size")?) * MIB;
    let settings = Settings {
        release_threshold: u64::from(state.number("threshold")?) * MIB,
        most_bytes: u64::from(state.number("cap")?) * MIB,
        ..Settings::default()
    };
    let (steps, failure) = run(&calls, bytes, settings)?;
    let asked = steps.iter().filter(|step| step.asked > 0).count() as u64;
    let given = steps.iter().filter(|step| step.given > 0).count() as u64;
    let times = |what: &str, number: u64, never: &str| match number {
        0 => never.to_owned(),
        1 => format!("{what} once"),
        _ => format!("{what} {number} times"),
    };
    let now = steps.last().map_or(0, |step| step.reserved) / MIB;
    let said = format!(
        "The pool {} and {}. Now it holds {now} MiB.{}",
        times("asked the GPU for memory", asked, "did not ask the GPU for memory"),
        times("gave some back", given, "gave none back"),
        failure.map_or(String::new(), |failure| format!(" {failure}"))
    );
    let said = grouped(&said);
    let draw = move |picture: &mut Picture| draw(picture, &steps);
    Ok(Drawn {
        said,
        draw: Box::new(draw),
        case: Some(called(&calls, bytes, &settings)),
        limit: None,
    })
}

/// What the experiment calls it, if it is one of its rounds over and over.
fn called(calls: &[char], bytes: u64, settings: &Settings) -> Case {
    let is_rounds = calls.chunks(3).all(|round| round == ['a', 'f', 'w']);
    let kind = match settings.release_threshold {
        0 => "returning_pool",
        threshold if threshold >= bytes => "keeping_pool",
        _ => return vec![],
    };
    if calls.is_empty() || !is_rounds || settings.most_bytes > 0 {
        return vec![];
    }
    case([("case", "round"), ("kind", kind), ("state", "steady"), ("bytes", &bytes.to_string())])
}

/// Makes the calls, all in one stream, up to one that fails: then tells that as well.
fn run(
    calls: &[char],
    bytes: u64,
    settings: Settings,
) -> Result<(Vec<After>, Option<String>), String> {
    let mut program = Program::new(None);
    let stream = program.stream(queue::Kind::NonBlocking);
    let mut pool = Pool::new(0, settings);
    let (mut held, mut steps, mut next) = (vec![], vec![], 0);
    for (place, call) in calls.iter().enumerate() {
        let (mut asked, mut given) = (0, 0);
        match call {
            'a' => {
                let take = |pool: &mut Pool, program: &Program<()>| {
                    let (is_done, known) = (
                        |ticket| program.queues.is_done(ticket),
                        |ticket| program.queues.is_awaited(stream, ticket),
                    );
                    pool.take(bytes, stream, is_done, known)
                };
                let mut taken = take(&mut pool, &program);
                if taken.is_none() {
                    let Some(growth) = pool.growth_for(bytes) else {
                        let call = place + 1;
                        let told = format!("Call {call} fails: out of memory, because of the cap.");
                        return Ok((steps, Some(told)));
                    };
                    asked = growth;
                    pool.grow(next, asked);
                    next += asked;
                    taken = take(&mut pool, &program);
                }
                let Block { address, after } = taken.ok_or("the pool is too small")?;
                program.call(stream, operation(Kind::Allocate, bytes), (), &after);
                held.push(address);
            }
            'f' => {
                if held.is_empty() {
                    return Err(format!("Call {} frees, and nothing is allocated.", place + 1));
                }
                let freed = program.call(stream, operation(Kind::Free, bytes), (), &[]);
                pool.give_back(held.remove(0), freed);
            }
            _ => {
                if let Some(last) = program.queues.last(stream) {
                    program.wait(last);
                }
                given = pool.synchronise(|ticket| program.queues.is_done(ticket));
            }
        }
        let (used, reserved) = (pool.used_bytes(), pool.reserved_bytes());
        steps.push(After { call: *call, used, reserved, asked, given });
    }
    Ok((steps, None))
}

/// A bar for each call: what the pool holds after it, and what of that is in use.
fn draw(picture: &mut Picture, steps: &[After]) {
    let most = steps.iter().map(|step| step.reserved).max().unwrap_or(0).max(256 * MIB) as f64;
    let (left, base, high) = (40.0, 150.0, 120.0);
    let width = ((picture.width - 2.0 - left) / steps.len().max(1) as f64).min(54.0);
    for part in [0.0, 0.5, 1.0] {
        let y = base - part * high;
        let text = (part * most / MIB as f64).round().to_string();
        picture.text((left - 6.0, y), Anchor::End, MUTED, &text);
        picture.lines(&[[left, y, picture.width - 2.0, y]], MUTED, 0.25);
    }
    for (place, step) in steps.iter().enumerate() {
        let x = left + place as f64 * width;
        let [used, reserved] = [step.used, step.reserved].map(|bytes| bytes as f64 / most * high);
        picture.cell([x + 3.0, base - reserved, width - 6.0, reserved], MEMORY, 0.15, true);
        picture.cell([x + 3.0, base - used, width - 6.0, used], COMPUTE, 0.6, false);
        let middle = x + width / 2.0;
        picture.heading((middle, base + 13.0), Anchor::Middle, &step.call.to_string());
        let (sign, change) = match (step.asked, step.given) {
            (0, 0) => continue,
            (0, given) => ("−", given / MIB),
            (asked, _) => ("+", asked / MIB),
        };
        // Among many calls there is room for the sign alone.
        let number = if width < 34.0 { String::new() } else { change.to_string() };
        picture.text((middle, base + 31.0), Anchor::Middle, INK, &format!("{sign}{number}"));
    }
    let below = base + 56.0;
    let entries = [(1.0, MEMORY, 0.15, "held by the pool, MiB"), (180.0, COMPUTE, 0.6, "in use")];
    for (x, pen, fill, text) in entries {
        picture.cell([x, below - 5.0, 10.0, 10.0], pen, fill, true);
        picture.text((x + 15.0, below), Anchor::Start, INK, text);
    }
    let text = "below the calls: what came from the GPU, or went back";
    picture.text((1.0, below + 18.0), Anchor::Start, MUTED, text);
}

#[cfg(test)]
mod tests {
    use super::super::said;

    /// What the sentence that the reader is to find says.
    #[test]
    fn what_there_is_to_find_is_there() {
        for (state, told) in [
            (
                &[][..],
                "asked the GPU for memory 3 times and gave some back 3 times. Now it holds 0 MiB.",
            ),
            (&[("threshold", "256")], "memory once and gave none back. Now it holds 256"),
            (&[("calls", "afafaf")], "memory once and gave none back. Now it holds 256"),
            (&[("cap", "256")], "memory 3 times and gave some back 3 times. Now it holds 0 MiB."),
            (
                &[("cap", "512"), ("calls", "aaa")],
                "Now it holds 512 MiB. Call 3 fails: out of memory, because of the cap.",
            ),
            (
                &[("threshold", "256"), ("calls", "aaffw")],
                "memory 2 times and gave some back once. Now it holds 256 MiB.",
            ),
            (&[("calls", "f")], "Call 1 frees, and nothing is allocated."),
            (&[("calls", "a x")], "`x` is no call"),
        ] {
            let said = said("pool", state);
            assert!(said.contains(told), "{state:?}: {said}");
        }
    }

    /// A cap changes nothing, unless an allocation fails.
    #[test]
    fn a_cap_makes_it_ask_less_only_where_an_allocation_fails() {
        let (mut failed, mut same) = (0, 0);
        for number in 0..3_usize.pow(6) {
            let call = |place| ["a", "f", "w"][number / 3_usize.pow(place) % 3];
            let calls: String = (0..6).map(call).collect();
            let without = said("pool", &[("calls", &calls)]);
            for cap in ["256", "512"] {
                let with = said("pool", &[("calls", &calls), ("cap", cap)]);
                match with.contains("because of the cap") {
                    true => failed += 1,
                    false => {
                        assert_eq!(with, without, "{calls} {cap}");
                        same += 1;
                    }
                }
            }
        }
        assert!(failed > 100 && same > 100, "{failed} {same}");
    }
}
