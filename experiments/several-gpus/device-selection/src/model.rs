//! The model: where each job goes, and when the last GPU is done.

use std::ops::Range;

lab::words! {
    /// How a list of jobs is shared.
    pub(crate) enum Schedule {
        /// One GPU does all of it.
        Alone = "alone",
        Chunks = "chunks",
        Strided = "strided",
        Rayon = "rayon",
        RayonSingle = "rayon_single",
        Queue = "queue",
        LongestFirst = "longest_first",
    }
}

impl Schedule {
    /// The ways to share a list among several GPUs.
    pub(crate) const SHARED: [Schedule; 6] = [
        Schedule::Chunks,
        Schedule::Strided,
        Schedule::Rayon,
        Schedule::RayonSingle,
        Schedule::Queue,
        Schedule::LongestFirst,
    ];
}

// ANCHOR: place
/// The GPU that job i goes to, if that is settled beforehand.
pub(crate) fn place(
    schedule: Schedule,
    total: usize,
    gpus: usize,
    i: usize,
) -> Option<usize> {
    match schedule {
        Schedule::Chunks => {
            (0..gpus).find(|gpu| piece(total, gpus, *gpu).contains(&i))
        }
        Schedule::Strided => Some(i % gpus),
        Schedule::Alone | Schedule::Queue | Schedule::LongestFirst => None,
        Schedule::Rayon | Schedule::RayonSingle => None,
    }
}

/// Which of `total` jobs are in a GPU's piece: in order, and none is left out.
fn piece(total: usize, gpus: usize, gpu: usize) -> Range<usize> {
    total * gpu / gpus..total * (gpu + 1) / gpus
}
// ANCHOR_END: place

// ANCHOR: model
/// When the last GPU is done, if the jobs take this long. `None` for schedules in which
/// the order depends on chance.
pub(crate) fn predict(
    schedule: Schedule,
    seconds: &[f64],
    gpus: usize,
) -> Option<f64> {
    let mut done = vec![0.0f64; gpus];
    let mut seconds = seconds.to_vec();
    if schedule == Schedule::LongestFirst {
        seconds.sort_by(|a, b| b.total_cmp(a));
    }
    for (i, job) in seconds.iter().enumerate() {
        let gpu = match schedule {
            Schedule::Chunks | Schedule::Strided => {
                place(schedule, seconds.len(), gpus, i)
            }
            // The next job goes to whoever is done first.
            Schedule::Alone | Schedule::Queue | Schedule::LongestFirst => {
                (0..gpus).min_by(|a, b| done[*a].total_cmp(&done[*b]))
            }
            Schedule::Rayon | Schedule::RayonSingle => None,
        };
        done[gpu?] += job;
    }
    done.into_iter().reduce(f64::max)
}

/// No way is faster: the GPUs together take the sum, and one of them the longest job.
pub(crate) fn bound(seconds: &[f64], gpus: usize) -> f64 {
    let longest = seconds.iter().copied().fold(0.0, f64::max);
    longest.max(seconds.iter().sum::<f64>() / gpus as f64)
}
// ANCHOR_END: model

#[cfg(test)]
mod tests {
    use super::{Schedule, bound, place, predict};

    #[test]
    fn every_job_has_one_place() {
        for (total, gpus) in [(61, 1), (61, 4), (61, 8), (3, 8)] {
            for schedule in [Schedule::Chunks, Schedule::Strided] {
                let places =
                    (0..total).filter_map(|i| place(schedule, total, gpus, i));
                let mut jobs = vec![0; gpus];
                places.for_each(|gpu| jobs[gpu] += 1);
                let (least, most) = (jobs.iter().min(), jobs.iter().max());
                assert_eq!(jobs.iter().sum::<usize>(), total);
                assert!(
                    least.zip(most).is_some_and(|(a, b)| b - a <= 1),
                    "{jobs:?}"
                );
            }
        }
    }

    #[test]
    fn the_first_exercise_is_right() {
        let jobs = [5.0, 1.0, 1.0, 1.0, 3.0, 5.0];
        assert_eq!(bound(&jobs, 2), 8.0);
        for (schedule, end) in [
            (Schedule::Chunks, Some(9.0)),
            (Schedule::Strided, Some(9.0)),
            (Schedule::Queue, Some(10.0)),
            (Schedule::LongestFirst, Some(8.0)),
            (Schedule::Rayon, None),
        ] {
            assert_eq!(predict(schedule, &jobs, 2), end, "{schedule:?}");
        }
    }
}
