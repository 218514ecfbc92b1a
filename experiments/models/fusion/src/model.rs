//! How long a chain should take: its launches, and its bytes or its arithmetic, whichever
//! takes longer.

use lab::Case;
use lab::measure::Timed;

use crate::chain::{Shape, Strategy};

/// What a launch takes and two rates, from which every chain's time follows.
pub(crate) struct Model {
    launch_seconds: f64,
    bytes_per_second: f64,
    /// Quads that take a step.
    steps_per_second: f64,
}

impl Model {
    /// The model after one step, and the chain with the most steps in one kernel.
    pub(crate) fn of(launch_seconds: f64, chains: &[Timed<Shape>]) -> Model {
        let seconds = |chain: &Timed<_>| chain.samples.median() - launch_seconds;
        let fused =
            || chains.iter().filter(|chain| chain.last.strategy == Strategy::Fused);
        let rate = |of: fn(&Shape) -> f64| {
            move |chain: &Timed<Shape>| of(&chain.last) / seconds(chain)
        };
        let bytes = rate(|shape| 2.0 * shape.bytes() as f64);
        let steps = rate(|shape| shape.quads as f64 * f64::from(shape.steps));
        Model {
            launch_seconds,
            bytes_per_second: fused().next().map_or(f64::NAN, bytes),
            steps_per_second: fused().next_back().map_or(f64::NAN, steps),
        }
    }

    /// A kernel's bytes move while it computes, and kernels follow each other.
    fn seconds(&self, shape: &Shape) -> f64 {
        let launches = shape.launches() as f64;
        let bytes = 2.0 * shape.bytes() as f64 / launches;
        let steps = shape.quads as f64 * f64::from(shape.steps) / launches;
        let moving = bytes / self.bytes_per_second;
        let computing = steps / self.steps_per_second;
        launches * (self.launch_seconds + moving.max(computing))
    }

    pub(crate) fn describe(&self, case: Case, shape: &Shape) -> Case {
        case.model("time_seconds", self.seconds(shape))
    }
}

#[cfg(test)]
mod tests {
    use super::Model;
    use crate::chain::{QUAD_BYTES, Shape, Strategy};

    #[test]
    fn fused_steps_are_free_until_arithmetic_takes_longer() {
        // A quad's bytes move in the time of ten steps.
        let bytes_per_second = 2.0 * QUAD_BYTES as f64 / 10.0;
        let model =
            Model { launch_seconds: 5.0, bytes_per_second, steps_per_second: 1.0 };
        let seconds =
            |strategy, steps| model.seconds(&Shape { strategy, quads: 1, steps });
        assert_eq!(seconds(Strategy::Fused, 1), 15.0);
        assert_eq!(seconds(Strategy::Fused, 10), 15.0);
        assert_eq!(seconds(Strategy::Fused, 20), 25.0);
        assert_eq!(seconds(Strategy::Separate, 20), 20.0 * 15.0);
    }
}
