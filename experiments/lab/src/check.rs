//! Inputs that tell, and comparing results. Every timed kernel's output goes through
//! here, after timing, so a fast wrong kernel never makes a chart.

use anyhow::{Result, bail};

/// Compares every element of `got` with `expected(index)`; `what` is named in the
/// error, which tells the first wrong element and how many there are. Returns the
/// number of elements compared.
pub fn every_element<T: PartialEq + std::fmt::Display + Copy>(
    what: &str,
    got: &[T],
    expected: impl Fn(usize) -> T,
) -> Result<u64> {
    let wrong = |(i, value): (usize, &T)| (*value != expected(i)).then_some(i);
    let Some(first) = got.iter().enumerate().find_map(wrong) else {
        return Ok(got.len() as u64);
    };
    let count = got.iter().enumerate().filter_map(wrong).count();
    bail!(
        "{what}: wrong result. Element {first} is {} and should be {} ({count} of {} \
         elements are wrong). Nothing was recorded",
        got[first],
        expected(first),
        got.len(),
    )
}

/// What word i of an input holds: i times an odd constant. All are different, so that a
/// word out of place shows.
pub fn value(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761)
}

#[cfg(test)]
mod tests {
    use super::{every_element, value};

    #[test]
    fn right_results_are_counted() {
        assert_eq!(every_element("ramp", &[0, 2, 4], |i| 2 * i).unwrap(), 3);
    }

    #[test]
    fn the_first_wrong_element_is_named() {
        let error = every_element("ramp", &[0, 2, 9, 9], |i| 2 * i).unwrap_err();
        assert_eq!(
            error.to_string(),
            "ramp: wrong result. Element 2 is 9 and should be 4 (2 of 4 elements are \
             wrong). Nothing was recorded"
        );
    }

    #[test]
    fn words_next_to_each_other_and_far_apart_differ() {
        let words: std::collections::HashSet<_> = (0..1 << 16).map(value).collect();
        assert_eq!(words.len(), 1 << 16);
    }
}
