//! Median, spread and confidence interval of a sample.
//!
//! GPU timings are skewed: interference makes them longer, nothing makes them shorter.
//! So the workbook quotes the median, shows the median absolute deviation, and states a
//! confidence interval that assumes no distribution: two order statistics, chosen by
//! the binomial distribution, between which the true median lies.

/// The confidence that is asked for. Few samples may reach less; see
/// [`Statistics::confidence`].
pub const CONFIDENCE: f64 = 0.95;

/// Order statistics of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Statistics {
    /// Number of samples.
    pub count: usize,
    /// Middle sample, or the mean of the two middle ones.
    pub median: f64,
    /// Median absolute deviation from the median, not scaled.
    pub mad: f64,
    /// Lower end of the confidence interval of the median.
    pub low: f64,
    /// Upper end of the confidence interval of the median.
    pub high: f64,
    /// Confidence that the interval really has: at least [`CONFIDENCE`] from six
    /// samples on; below that the whole range and what it is worth.
    pub confidence: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
}

impl Statistics {
    /// Statistics of `samples`; `None` if there are none. They must not be NaN.
    pub fn of(samples: &[f64]) -> Option<Statistics> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let median = middle(&sorted);
        let mut deviations: Vec<f64> =
            sorted.iter().map(|x| (x - median).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let (rank, confidence) = median_interval(sorted.len());
        Some(Statistics {
            count: sorted.len(),
            median,
            mad: middle(&deviations),
            low: sorted[rank],
            high: sorted[sorted.len() - 1 - rank],
            confidence,
            min,
            max,
        })
    }

    /// Half the confidence interval's width over the median: 0.01 is ±1 %.
    pub fn relative_half_width(&self) -> f64 {
        if self.median == 0.0 {
            0.0
        } else {
            (self.high - self.low) / 2.0 / self.median
        }
    }
}

/// Median of a sorted, non-empty slice.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        sorted[half - 1] + (sorted[half] - sorted[half - 1]) / 2.0
    }
}

/// For `count` samples: how many to drop at each end so that what is left spans the
/// true median with at least [`CONFIDENCE`], and the confidence that this gives.
///
/// Each sample lies below the true median with probability 1/2, so the number that do
/// is binomial. Dropping `k` at each end loses 2·P(at most k of `count` lie below).
fn median_interval(count: usize) -> (usize, f64) {
    let n = count as f64;
    let mut probability = 0.5f64.powf(n); // P(exactly 0 below)
    let mut tail = probability; // P(at most 0 below)
    let mut best = (0, (1.0 - 2.0 * tail).max(0.0));
    for k in 1..count / 2 {
        probability *= (n - k as f64 + 1.0) / k as f64;
        tail += probability;
        if 1.0 - 2.0 * tail < CONFIDENCE {
            break;
        }
        best = (k, 1.0 - 2.0 * tail);
    }
    // Past about a thousand samples 0.5^n underflows; the normal approximation is
    // exact to a sample there.
    if count > 1000 {
        let k = (n / 2.0 - 1.96 * n.sqrt() / 2.0).floor() as usize;
        best = (k.saturating_sub(1), CONFIDENCE);
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_samples_by_hand() {
        let cases: &[(&[f64], f64, f64)] = &[
            (&[7.0], 7.0, 0.0),
            (&[1.0, 3.0], 2.0, 1.0),
            (&[3.0, 1.0, 2.0], 2.0, 1.0),
            (&[5.0, 5.0, 5.0, 5.0], 5.0, 0.0),
            (&[1.0, 2.0, 3.0, 100.0], 2.5, 1.0),
        ];
        for (samples, median, mad) in cases {
            let s = Statistics::of(samples).unwrap();
            assert_eq!((s.median, s.mad), (*median, *mad), "{samples:?}");
        }
        assert_eq!(Statistics::of(&[]), None);
    }

    #[test]
    fn one_sample_has_no_confidence() {
        let s = Statistics::of(&[4.2]).unwrap();
        assert_eq!((s.low, s.high, s.confidence), (4.2, 4.2, 0.0));
    }

    /// Ranks and confidences from the binomial distribution, worked out by hand:
    /// n = 6 loses 2/64, n = 9 loses 2·10/512, n = 10 loses 2·11/1024.
    #[test]
    fn interval_ranks_match_the_binomial_table() {
        for (n, rank, confidence) in [
            (5, 0, 0.9375),
            (6, 0, 0.96875),
            (9, 1, 1.0 - 20.0 / 512.0),
            (10, 1, 1.0 - 22.0 / 1024.0),
        ] {
            let (k, c) = median_interval(n);
            assert_eq!(k, rank, "n = {n}");
            assert!((c - confidence).abs() < 1e-12, "n = {n}: {c}");
        }
        // R: qbinom(0.025, 100, 0.5) = 40, so 40 samples are dropped at each end less one.
        assert_eq!(median_interval(100).0, 39);
    }

    /// The interval must be what it says: draw from a known distribution and count.
    #[test]
    fn interval_covers_the_true_median() {
        let mut state = 1u64;
        let mut uniform = || {
            state = state
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for n in [6, 15, 40] {
            let trials = 4000;
            let hits = (0..trials)
                .filter(|_| {
                    let skewed: Vec<f64> = (0..n).map(|_| -uniform().ln()).collect();
                    let s = Statistics::of(&skewed).unwrap();
                    (s.low..=s.high).contains(&std::f64::consts::LN_2)
                })
                .count();
            let coverage = hits as f64 / f64::from(trials);
            assert!(coverage > CONFIDENCE - 0.015, "n = {n}: {coverage}");
        }
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        let value = prop_oneof![1e-9..1e3f64, Just(1.0), Just(2.0)]; // ties on purpose
        prop::collection::vec(value, 1..60)
    }

    proptest! {
        #[test]
        fn order_does_not_matter(mut v in sample(), seed in any::<u64>()) {
            let before = Statistics::of(&v);
            let n = v.len();
            v.rotate_left((seed % n as u64) as usize);
            v.reverse();
            prop_assert_eq!(before, Statistics::of(&v));
        }

        #[test]
        fn half_lies_on_each_side(v in sample()) {
            let s = Statistics::of(&v).unwrap();
            prop_assert!(v.iter().filter(|x| **x <= s.median).count() * 2 >= v.len());
            prop_assert!(v.iter().filter(|x| **x >= s.median).count() * 2 >= v.len());
        }

        #[test]
        fn statistics_are_ordered(v in sample()) {
            let s = Statistics::of(&v).unwrap();
            prop_assert!(s.min <= s.low && s.low <= s.median);
            prop_assert!(s.median <= s.high && s.high <= s.max);
            prop_assert!(s.mad >= 0.0 && s.mad <= s.max - s.min);
            prop_assert!((0.0..=1.0).contains(&s.confidence));
            prop_assert!(v.len() < 6 || s.confidence >= CONFIDENCE);
        }

        #[test]
        fn scaling_scales(v in sample(), factor in 1e-3..1e3f64) {
            let scaled: Vec<f64> = v.iter().map(|x| x * factor).collect();
            let (a, b) = (Statistics::of(&v).unwrap(), Statistics::of(&scaled).unwrap());
            let close = |x: f64, y: f64| (x - y).abs() <= 1e-9 * y.abs().max(1e-300);
            prop_assert!(close(a.median * factor, b.median));
            prop_assert!(close(a.low * factor, b.low) && close(a.high * factor, b.high));
        }
    }
}
