//! Inputs that tell, and comparing results. Every timed kernel's output goes through
//! here, after timing, so a fast wrong kernel never makes a chart.

use std::fmt::Display;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use anyhow::{Result, bail};
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DeviceRepr, result};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// Compares every element of `got` with `expected(index)`, on all cores; `what` is named in
/// the error, which tells the first wrong element and how many there are. Returns the
/// number of elements compared.
pub fn every_element<T: PartialEq + Display + Copy + Sync>(
    what: &str,
    got: &[T],
    expected: impl Fn(usize) -> T + Sync,
) -> Result<u64> {
    let mut wrong = Wrong::default();
    wrong.look(0, got, &expected);
    wrong.judge(what, got.len())
}

/// Copies the first `count` words of an array from the device and compares them likewise:
/// piece by piece, for memory that was never touched takes longer than the copy. (Pieces
/// this small come from memory that was freed before.)
pub(crate) fn on_device<T: PartialEq + Display + Copy + Default + Sync + DeviceRepr>(
    what: &str,
    stream: &Arc<CudaStream>,
    words: &impl DevicePtr<T>,
    count: usize,
    expected: impl Fn(usize) -> T + Sync,
) -> Result<u64> {
    const PIECE_BYTES: usize = 8 << 20;
    let piece = PIECE_BYTES / size_of::<T>();
    let mut got = vec![T::default(); piece.min(count)];
    let mut wrong = Wrong::default();
    stream.context().bind_to_thread()?;
    for start in (0..count).step_by(piece) {
        let got = &mut got[..piece.min(count - start)];
        let (from, _order) = words.device_ptr(stream);
        let from = from + (start * size_of::<T>()) as u64;
        // SAFETY: the array has as many words from `start` on, and `got` is not looked at
        // before the copy is done.
        unsafe { result::memcpy_dtoh_async(got, from, stream.cu_stream()) }?;
        stream.synchronize()?;
        wrong.look(start, got, &expected);
    }
    wrong.judge(what, count)
}

/// The sum of what `count` gives for each piece of 0 to `len` - 1, on all cores. Compiled once,
/// for all types of elements.
fn sum_of_pieces(len: usize, count: &(dyn Fn(Range<usize>) -> usize + Sync)) -> usize {
    const PIECE: usize = 1 << 14;
    let pieces = 0..len.div_ceil(PIECE);
    let of_piece = |i| count(i * PIECE..len.min((i + 1) * PIECE));
    match pool() {
        Some(pool) => pool.install(|| pieces.into_par_iter().map(of_piece).sum()),
        None => pieces.map(of_piece).sum(),
    }
}

/// A thread for each core, or none where they cannot be made, as where memory is short. (rayon's
/// own would panic there.)
pub(crate) fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| ThreadPoolBuilder::new().build().ok()).as_ref()
}

/// Elements that are not what they should be: how many, and the first with what it is and
/// what it should be.
struct Wrong<T> {
    count: usize,
    first: Option<(usize, T, T)>,
}

impl<T> Default for Wrong<T> {
    fn default() -> Wrong<T> {
        Wrong { count: 0, first: None }
    }
}

impl<T: PartialEq + Display + Copy + Sync> Wrong<T> {
    /// Looks at the elements from `start` on.
    fn look(&mut self, start: usize, got: &[T], expected: &(impl Fn(usize) -> T + Sync)) {
        let is_wrong = |(i, value): &(usize, &T)| **value != expected(start + i);
        let count = sum_of_pieces(got.len(), &|piece| {
            let numbered = piece.start..;
            numbered.zip(&got[piece]).filter(is_wrong).count()
        });
        if count > 0 && self.first.is_none() {
            let first = got.iter().enumerate().find(is_wrong);
            self.first = first.map(|(i, value)| (start + i, *value, expected(start + i)));
        }
        self.count += count;
    }

    fn judge(self, what: &str, all: usize) -> Result<u64> {
        let Some((first, got, expected)) = self.first else {
            return Ok(all as u64);
        };
        bail!(
            "{what}: wrong result. Element {first} is {got} and should be {expected} ({} of \
             {all} elements are wrong). Nothing was recorded",
            self.count
        )
    }
}

/// Words after an output that [`output`] compares, if there are so many.
pub const GUARD: usize = 1024;

/// How many elements of `room` to check a kernel's edges with: a number that no block
/// divides, with room after it for what a kernel must not write.
pub fn ragged(room: usize) -> usize {
    100_003.min((room / 2).saturating_sub(1) | 1)
}

/// Copies the first `count` words of an output from the device and compares them as
/// [`every_element`] does. The words after them must be zero, as a cleared output's are: a
/// kernel has not written past the end.
pub fn output<T: PartialEq + Display + Copy + Default + Sync + DeviceRepr>(
    what: &str,
    stream: &Arc<CudaStream>,
    words: &CudaSlice<T>,
    count: usize,
    expected: impl Fn(usize) -> T + Sync,
) -> Result<u64> {
    untouched(what, stream, words, count)?;
    on_device(what, stream, words, count, expected)
}

/// The words of a cleared output after the first `count` must be zero still.
pub fn untouched<T: PartialEq + Display + Copy + Default + Sync + DeviceRepr>(
    what: &str,
    stream: &Arc<CudaStream>,
    words: &CudaSlice<T>,
    count: usize,
) -> Result<()> {
    let end = words.len().min(count + GUARD);
    let (what, after) = (format!("{what}, past its end"), words.slice(count..end));
    on_device(&what, stream, &after, end - count, |_| T::default()).map(drop)
}

/// What word i of an input holds: i times an odd constant. All are different, so that a
/// word out of place shows.
#[inline]
pub fn value(i: usize) -> u32 {
    (i as u32).wrapping_mul(2_654_435_761)
}

/// 0 to `count` - 1 in a random order, the same in each run.
#[inline]
pub fn shuffled(count: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count).collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for last in (1..order.len()).rev() {
        // A xorshift generator (Marsaglia, 2003), and an exchange for each place.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(last, (state % (last as u64 + 1)) as usize);
    }
    order
}

/// What `times` times x → factor · x + summand makes of an x, in one step: the result of
/// kernels that take as long as they are told to.
#[inline]
pub fn repeated(factor: u32, summand: u32, times: u32) -> impl Fn(u32) -> u32 {
    let step = |(f, s): (u32, u32), _| {
        (f.wrapping_mul(factor), s.wrapping_mul(factor).wrapping_add(summand))
    };
    let (factor, summand) = (0..times).fold((1, 0), step);
    move |x| x.wrapping_mul(factor).wrapping_add(summand)
}

#[cfg(test)]
mod tests {
    use cudarc::driver::CudaContext;
    use test_driver::alone;

    use super::{every_element, output, ragged, shuffled, value};

    #[test]
    fn another_gpus_results_are_downloaded_while_its_context_is_not_current() {
        alone(&[("WORKBOOK_EMULATED_GPUS", "2")], || {
            let [here, there] = [0, 1].map(|gpu| CudaContext::new(gpu).unwrap());
            // SAFETY: everything that is queued is waited for. Tracking changes contexts.
            unsafe { there.disable_event_tracking() };
            let stream = there.new_stream().unwrap();
            let words = stream.clone_htod(&[1u32, 2, 3]).unwrap();
            stream.synchronize().unwrap();
            here.bind_to_thread().unwrap();
            let checked = output("words", &stream, &words, 3, |i| i as u32 + 1);
            assert_eq!(checked.unwrap(), 3);
        });
    }

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
    fn no_block_divides_a_ragged_size_and_there_is_room_after_it() {
        for room in (4..5000).chain([16_384, 1 << 30]) {
            let count = ragged(room);
            assert!(!count.is_multiple_of(32) && count < room, "{count} of {room}");
        }
        assert_eq!((ragged(16_384), ragged(1 << 30)), (8191, 100_003));
    }

    #[test]
    fn words_next_to_each_other_and_far_apart_differ() {
        let words: std::collections::HashSet<_> = (0..1 << 16).map(value).collect();
        assert_eq!(words.len(), 1 << 16);
    }

    #[test]
    fn an_order_of_chance_has_every_number_and_is_the_same_again() {
        let order = shuffled(1000);
        assert_eq!(order, shuffled(1000));
        let in_place = (0..).zip(&order).filter(|(i, n)| i == *n).count();
        assert!(in_place < 10, "{in_place} numbers stayed where they were");
        let mut sorted = order;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..1000));
    }
}
