//! Some of a record's measurements, as [`excerpt::select`] chooses them. What a page chooses is
//! noted, so that it is known what no page shows.

use record::Measurement;

pub use excerpt::select::{CASE, Filter, distinct, only, parameter, value};

use crate::records::Recorded;

/// Choosing out of all runs of a machine.
pub trait Choose {
    /// The chosen measurements, in the record's order; at least one.
    fn all<'r>(&self, record: &'r Recorded) -> Result<Vec<&'r Measurement>, String>;

    fn one<'r>(&self, record: &'r Recorded) -> Result<&'r Measurement, String> {
        only(&self.all(record)?)
    }
}

impl Choose for Filter {
    fn all<'r>(&self, record: &'r Recorded) -> Result<Vec<&'r Measurement>, String> {
        let chosen = self.choose(record)?;
        record.select(&chosen);
        Ok(chosen)
    }
}
