//! The model: where each job goes, and when the last GPU is done.

use std::ops::Range;

// ANCHOR: place
/// Where job i goes if that is settled beforehand.
pub(crate) fn place(way: &str, total: usize, gpus: usize, i: usize) -> usize {
    match way {
        "strided" => i % gpus,
        _ => {
            (0..gpus).find(|gpu| piece(total, gpus, *gpu).contains(&i)).unwrap_or(0)
        }
    }
}

/// Which of `total` jobs are in a GPU's piece: in order, and none is left out.
fn piece(total: usize, gpus: usize, gpu: usize) -> Range<usize> {
    total * gpu / gpus..total * (gpu + 1) / gpus
}
// ANCHOR_END: place

// ANCHOR: model
/// When the last GPU is done, if the jobs take this long. `None` for ways in which the
/// order depends on chance.
pub(crate) fn predict(way: &str, seconds: &[f64], gpus: usize) -> Option<f64> {
    let mut done = vec![0.0f64; gpus];
    let mut seconds = seconds.to_vec();
    if way == "longest_first" {
        seconds.sort_by(|a, b| b.total_cmp(a));
    }
    for (i, job) in seconds.iter().enumerate() {
        let gpu = match way {
            "chunks" | "strided" => place(way, seconds.len(), gpus, i),
            // The next job goes to whoever is done first.
            "alone" | "queue" | "longest_first" => {
                (0..gpus).min_by(|a, b| done[*a].total_cmp(&done[*b])).unwrap_or(0)
            }
            _ => return None,
        };
        done[gpu] += job;
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
    use super::{bound, place, predict};

    #[test]
    fn every_job_has_one_place() {
        for (total, gpus) in [(61, 1), (61, 4), (61, 8), (3, 8)] {
            for way in ["chunks", "strided"] {
                let places = (0..total).map(|i| place(way, total, gpus, i));
                let mut jobs = vec![0; gpus];
                places.for_each(|gpu| jobs[gpu] += 1);
                let (least, most) = (jobs.iter().min(), jobs.iter().max());
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
        for (way, end) in [
            ("chunks", Some(9.0)),
            ("strided", Some(9.0)),
            ("queue", Some(10.0)),
            ("longest_first", Some(8.0)),
            ("rayon", None),
        ] {
            assert_eq!(predict(way, &jobs, 2), end, "{way}");
        }
    }
}
