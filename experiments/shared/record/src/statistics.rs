//! Median, spread and confidence interval of a sample.
//!
//! GPU timings are skewed: interference makes them longer, nothing makes them shorter.
//! So the workbook quotes the median, shows the median absolute deviation, and states a
//! confidence interval that assumes no distribution: two order statistics, chosen by
//! the binomial distribution, between which the true median lies.
//!
//! Samples that follow each other are often alike, and then they tell less than as many
//! independent ones. How alike they are is estimated from the samples, in the order in
//! which they were taken, and the interval is wider by that.

/// The confidence that is asked for. Few samples may reach less; see
/// [`Statistics::confidence`].
pub const CONFIDENCE: f64 = 0.95;

/// Fewer samples do not tell how alike those are that follow each other.
const LEAST_TO_CORRELATE: usize = 20;

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
    /// Confidence that the interval really has: at least [`CONFIDENCE`], but where
    /// samples are fewer than six or hardly change from one to the next; then it is the
    /// whole range and what that is worth.
    pub confidence: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
}

impl Statistics {
    /// Statistics of `samples`, in the order in which they were taken; `None` if there
    /// are none. They must not be NaN.
    pub fn of(samples: &[f64]) -> Option<Statistics> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let median = middle(&sorted);
        let mut deviations: Vec<f64> = sorted.iter().map(|x| (x - median).abs()).collect();
        deviations.sort_by(f64::total_cmp);
        let (rank, confidence) = median_interval(sorted.len(), correlation(samples, &sorted));
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

    /// Half the confidence interval's width over the median: 0.01 is ±1%.
    pub fn relative_half_width(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.high - self.low) / 2.0 / self.median }
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

/// Correlation of each sample with the next, from 0 to 1: that of their ranks in
/// `sorted`, which outliers do not hide, without the bias that few samples have.
fn correlation(samples: &[f64], sorted: &[f64]) -> f64 {
    let n = samples.len() as f64;
    // Twice the distance of a sample's rank from the middle one; equal samples share one.
    let rank = |x: &f64| {
        let below = sorted.partition_point(|y| y < x);
        let up_to = sorted.partition_point(|y| y <= x);
        (below + up_to) as f64 - n
    };
    let ranks: Vec<f64> = samples.iter().map(rank).collect();
    let variance: f64 = ranks.iter().map(|r| r * r).sum();
    if samples.len() < LEAST_TO_CORRELATE || variance == 0.0 {
        return 0.0;
    }
    let products = ranks.windows(2).map(|pair| pair[0] * pair[1]);
    let estimate = products.sum::<f64>() / variance;
    // Marriott and Pope (1954): the estimate is too low by (1 + 3 · correlation) / n.
    ((n * estimate + 1.0) / (n - 3.0)).clamp(0.0, 1.0)
}

/// For `count` samples with this correlation of neighbours: how many to drop at each end
/// so that what is left spans the true median with at least [`CONFIDENCE`], and the
/// confidence that this gives.
///
/// Each of independent samples lies below the true median with probability 1/2, so the
/// number that do is binomial. Dropping `k` at each end loses 2·P(at most k of `count`
/// lie below). If each depends on the one before alone, with this correlation, the mean of
/// `count` varies as that of fewer independent ones does, by the factor below; so the
/// ranks go that much further from the middle.
fn median_interval(count: usize, correlation: f64) -> (usize, f64) {
    let n = count as f64;
    let (rank, confidence) = independent_interval(count);
    let fewer = ((1.0 - correlation) / (1.0 + correlation)).sqrt();
    let rank = (n / 2.0 - (n / 2.0 - rank as f64) / fewer).max(0.0) as usize;
    if rank > 0 {
        return (rank, confidence);
    }
    // The range misses the median if all samples lie on the side of the first one.
    let same_side = 0.5 + correlation.asin() / std::f64::consts::PI;
    (0, 1.0 - same_side.powf(n - 1.0))
}

/// Rank and confidence of the interval, for independent samples.
fn independent_interval(count: usize) -> (usize, f64) {
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
            let (k, c) = median_interval(n, 0.0);
            assert_eq!(k, rank, "n = {n}");
            assert!((c - confidence).abs() < 1e-12, "n = {n}: {c}");
        }
        // R: qbinom(0.025, 100, 0.5) = 40, so 40 samples are dropped at each end less one.
        assert_eq!(median_interval(100, 0.0).0, 39);
    }

    /// Normally distributed numbers, the same in each run.
    fn normal() -> impl FnMut() -> f64 {
        let mut state = 1u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
        };
        // Box and Muller (1958).
        move || {
            let radius = (-2.0 * uniform().ln()).sqrt();
            radius * (std::f64::consts::TAU * uniform()).cos()
        }
    }

    /// Skewed samples whose median is 1, and of which each is like the one before: the
    /// exponential of an autoregressive process.
    fn alike(normal: &mut impl FnMut() -> f64, count: usize, correlation: f64) -> Vec<f64> {
        let mut state = normal();
        let next = |_| {
            let now = state;
            let new = (1.0 - correlation * correlation).sqrt() * normal();
            state = correlation * state + new;
            now.exp()
        };
        (0..count).map(next).collect()
    }

    /// The interval must be what it says: draw from a known distribution and count.
    #[test]
    fn interval_covers_the_true_median() {
        let mut normal = normal();
        let correlations = [0.0, 0.3, 0.6];
        let few = correlations.map(|r| [6, 20, 50, 100].map(|n| (n, r)));
        let many = correlations.map(|r| (400, r));
        for (n, correlation) in few.into_iter().flatten().chain(many) {
            let trials = 2000;
            let covers = |_: &u32| {
                let samples = alike(&mut normal, n, correlation);
                let s = Statistics::of(&samples).unwrap();
                (s.low..=s.high).contains(&1.0)
            };
            let hits = (0..trials).filter(covers).count();
            let coverage = hits as f64 / f64::from(trials);
            // Six samples do not tell how alike they are.
            let least = if n == 6 { 0.8 } else { CONFIDENCE - 0.01 };
            assert!(
                (least..0.995).contains(&coverage),
                "n = {n}, correlation {correlation}: {coverage}"
            );
        }
    }

    #[test]
    fn samples_that_follow_each_other_count_less() {
        let shuffled: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 60)).collect();
        let mut drifting = shuffled.clone();
        drifting.sort_by(f64::total_cmp);
        let [a, b] = [shuffled, drifting].map(|v| Statistics::of(&v).unwrap());
        assert_eq!((a.median, a.low, a.high), (29.5, 21.0, 38.0));
        assert_eq!((b.median, b.low, b.high), (29.5, 0.0, 59.0));
        assert!(a.confidence >= CONFIDENCE && b.confidence < CONFIDENCE);
    }

    fn sample() -> impl Strategy<Value = Vec<f64>> {
        let value = prop_oneof![1e-9..1e3f64, Just(1.0), Just(2.0)]; // ties on purpose
        prop::collection::vec(value, 1..60)
    }

    proptest! {
        #[test]
        fn backwards_is_the_same(mut v in sample()) {
            let before = Statistics::of(&v);
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
            let whole = (s.low, s.high) == (s.min, s.max);
            prop_assert!(whole || s.confidence >= CONFIDENCE);
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
