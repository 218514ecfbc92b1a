//! One measurement in the making.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use record::{Cache, Ceiling, Measurement, MemoryReading, Parameter, Span};

use crate::timing::Samples;
use crate::words;

/// One measurement in the making: what was done, how much it moved, what was checked.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) measurement: Measurement,
    pub(crate) samples: Option<Samples>,
    /// What its row says of it, beside the figures.
    pub(crate) notes: Vec<String>,
}

impl Case {
    /// A case by name, such as `copy`. Names are lower-case words joined by underscores.
    pub fn new(case: &str) -> Case {
        let measurement = Measurement {
            case: case.to_owned(),
            parameters: BTreeMap::new(),
            clock: record::Clock::Host,
            cache: Cache::NotApplicable,
            ceiling: Ceiling::None,
            bytes_read: 0,
            bytes_written: 0,
            arithmetic_operations: 0,
            elements_checked: 0,
            operations_per_sample: 1,
            seconds: vec![],
            sm_clock_khz: None,
            throttle_reasons: vec![],
            model: BTreeMap::new(),
            counters: BTreeMap::new(),
            remarks: vec![],
            spans: vec![],
            memory: BTreeMap::new(),
        };
        Case { measurement, samples: None, notes: vec![] }
    }

    /// What it is called in tables and messages: its name and its parameters.
    pub(crate) fn label(&self) -> String {
        words::label(&self.measurement.case, &self.measurement.parameters)
    }

    /// Adds a swept parameter: a number or a name.
    pub fn with(mut self, name: &str, value: impl Into<Parameter>) -> Case {
        self.measurement.parameters.insert(name.to_owned(), value.into());
        self
    }

    /// Bytes that one operation asks to read, seen from the GPU.
    pub fn reads(mut self, bytes: usize) -> Case {
        self.measurement.bytes_read = bytes as u64;
        self
    }

    /// Bytes that one operation asks to write, seen from the GPU.
    pub fn writes(mut self, bytes: usize) -> Case {
        self.measurement.bytes_written = bytes as u64;
        self
    }

    /// Additions and multiplications that one operation asks for.
    pub fn computes(mut self, operations: usize) -> Case {
        self.measurement.arithmetic_operations = operations as u64;
        self
    }

    /// The theoretical peak that bounds the case.
    pub fn ceiling(mut self, ceiling: Ceiling) -> Case {
        self.measurement.ceiling = ceiling;
        self
    }

    /// States what the operations of a sample touch together, against the L2 cache:
    /// cold from four times its size on.
    pub fn footprint(mut self, bytes: usize, l2_bytes: usize) -> Case {
        let cold = bytes >= 4 * l2_bytes;
        self.measurement.cache = if cold { Cache::Cold } else { Cache::Warm };
        self
    }

    /// What the lesson's model says of the case, or what is read beside the clock and may
    /// differ from run to run, by name with unit.
    pub fn model(mut self, name: &str, value: f64) -> Case {
        self.measurement.model.insert(name.to_owned(), value);
        self
    }

    /// Says that the case is timed as it should not be, to show what comes of that.
    pub fn wrong_on_purpose(mut self) -> Case {
        self.notes.push("wrong on purpose: this is not how long the work takes".to_owned());
        self
    }

    /// Output elements that were compared with the expected result.
    pub fn checked(mut self, elements: u64) -> Case {
        self.measurement.elements_checked = elements;
        self
    }

    /// What ran when in the operation of median time.
    pub fn spans(mut self, spans: Vec<Span>) -> Case {
        self.measurement.spans = spans;
        self
    }

    /// One series of memory readings over the course of an operation.
    pub fn memory(mut self, series: &str, readings: Vec<MemoryReading>) -> Case {
        self.measurement.memory.insert(series.to_owned(), readings);
        self
    }

    pub fn samples(mut self, samples: Samples) -> Case {
        self.samples = Some(samples);
        self
    }

    pub(crate) fn finish(self) -> Result<Measurement> {
        let samples = self.samples.context("a case was recorded without samples")?;
        Ok(Measurement {
            clock: samples.clock,
            operations_per_sample: samples.operations,
            seconds: samples.seconds,
            sm_clock_khz: samples.clocks.sm_clock_khz,
            throttle_reasons: samples.clocks.throttle_reasons,
            counters: samples.counted.total,
            ..self.measurement
        })
    }
}

/// Declares the words that a parameter has in records as an enum, so that a misspelt one does
/// not compile:
///
/// ```
/// lab::words! {
///     /// Which step of which stream comes first.
///     enum Order { DepthFirst = "depth_first", BreadthFirst = "breadth_first" }
/// }
/// for order in Order::ALL {
///     println!("{}", order.name());
///     lab::Case::new("streams").with("order", order);
/// }
/// ```
#[macro_export]
macro_rules! words {
    ($(#[$meta:meta])* $visibility:vis enum $Name:ident {
        $($(#[$doc:meta])* $Word:ident = $word:literal),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        $visibility enum $Name { $($(#[$doc])* $Word),* }

        #[allow(dead_code)] // not every lesson needs both
        impl $Name {
            $visibility const ALL: [$Name; [$($word),*].len()] = [$($Name::$Word),*];

            $visibility fn name(self) -> &'static str {
                match self { $($Name::$Word => $word),* }
            }
        }

        impl From<$Name> for $crate::Parameter {
            fn from(word: $Name) -> Self {
                word.name().into()
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Counted;
    use crate::machine::Clocks;

    #[test]
    fn parameters_and_traffic_reach_the_measurement() {
        let samples = Samples {
            clock: record::Clock::CudaEvents,
            operations: 4,
            seconds: vec![1.0],
            clocks: Clocks::default(),
            window: None,
            counted: Counted::default(),
        };
        let case = Case::new("copy").with("bytes", 8usize).reads(8).footprint(8, 2);
        let m = case.samples(samples).checked(2).finish().unwrap();
        assert_eq!((m.bytes_read, m.cache, m.operations_per_sample), (8, Cache::Cold, 4));
        assert!(Case::new("copy").finish().is_err());
    }
}
