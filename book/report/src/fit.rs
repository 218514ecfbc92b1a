//! The line *time = latency + bytes / bandwidth* through measured times.

/// A fitted line and how far the measurements are from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Seconds that a transfer of nothing would take.
    pub latency: f64,
    /// Bytes per second that a transfer of everything would reach.
    pub bandwidth: f64,
    /// The largest |measured / fitted − 1|, seen from the measured time.
    pub residual: f64,
}

impl Fit {
    /// Fits (bytes, seconds) pairs by least squares of the *relative* error, that is with
    /// weights 1/seconds²: a microsecond off matters at 1 KiB and not at 1 GiB.
    pub fn of(points: &[(f64, f64)]) -> Result<Fit, String> {
        let largest = points.iter().map(|(bytes, _)| *bytes).fold(0.0, f64::max);
        if points.len() < 3 || largest <= 0.0 {
            return Err(format!(
                "a fit needs at least three measured sizes, here are {}",
                points.len()
            ));
        }
        // Normal equations of seconds ≈ a + b·n, with n = bytes / largest so that both
        // columns are of one size.
        let (mut w, mut wn, mut wnn, mut wt, mut wnt) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (bytes, seconds) in points {
            let (n, weight) = (bytes / largest, 1.0 / (seconds * seconds));
            w += weight;
            wn += weight * n;
            wnn += weight * n * n;
            wt += weight * seconds;
            wnt += weight * n * seconds;
        }
        let determinant = w * wnn - wn * wn;
        let latency = (wt * wnn - wnt * wn) / determinant;
        let slope = (w * wnt - wn * wt) / determinant;
        let mut fit = Fit { latency, bandwidth: largest / slope, residual: 0.0 };
        if determinant <= 1e-12 * w * wnn || !fit.latency.is_finite() || slope <= 0.0 {
            return Err("the times do not grow with the size: no line fits".to_owned());
        }
        fit.residual = points
            .iter()
            .map(|(bytes, seconds)| (fit.seconds(*bytes) / seconds - 1.0).abs())
            .fold(0.0, f64::max);
        Ok(fit)
    }

    /// The fitted time of a transfer.
    pub fn seconds(&self, bytes: f64) -> f64 {
        self.latency + bytes / self.bandwidth
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_again() {
        let line = Fit { latency: 8e-6, bandwidth: 25e9, residual: 0.0 };
        let points: Vec<(f64, f64)> = (10..31)
            .map(|power| f64::from(1u32 << power))
            .map(|bytes| (bytes, line.seconds(bytes)))
            .collect();
        let fit = Fit::of(&points).unwrap();
        assert!((fit.latency / line.latency - 1.0).abs() < 1e-9, "{fit:?}");
        assert!((fit.bandwidth / line.bandwidth - 1.0).abs() < 1e-9, "{fit:?}");
        assert!(fit.residual < 1e-9, "{fit:?}");
    }

    #[test]
    fn what_no_line_fits_is_refused() {
        let cases: [&[(f64, f64)]; 4] = [
            &[(1.0, 1.0), (2.0, 2.0)],
            &[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)],
            &[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)],
            &[(0.0, 1.0), (0.0, 1.0), (0.0, 1.0)],
        ];
        for points in cases {
            assert!(Fit::of(points).is_err(), "{points:?}");
        }
    }
}
