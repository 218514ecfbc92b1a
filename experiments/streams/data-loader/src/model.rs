//! The model: when the last kernel is done.

use crate::device::BATCHES;

/// When it is done, if each step starts as soon as it can: making, when
/// a slot is free; the copy, when the batch is made and one of two buffers on the GPU
/// is free; the kernel, when the batch has arrived.
pub(crate) fn bound(
    make: impl Fn(usize) -> f64,
    upload: f64,
    kernel: f64,
    slots: usize,
) -> f64 {
    let (mut made, mut sent, mut done) = (0f64, 0f64, 0f64);
    let (mut slots, mut buffers) = (vec![0f64; slots], [0f64; 2]); // free from then on
    for batch in 0..BATCHES {
        let slot = batch % slots.len();
        made = made.max(slots[slot]) + make(batch);
        sent = sent.max(made).max(buffers[batch % 2]) + upload;
        slots[slot] = sent;
        done = done.max(sent) + kernel;
        buffers[batch % 2] = done;
    }
    done
}

#[cfg(test)]
mod tests {
    use super::bound;
    use crate::device::BATCHES;

    #[test]
    fn the_longest_step_sets_the_pace_from_two_slots_on() {
        let all = BATCHES as f64;
        assert_eq!(bound(|_| 4.0, 1.0, 2.0, 2), 4.0 * all + 1.0 + 2.0);
        assert_eq!(bound(|_| 2.0, 1.0, 4.0, 2), 2.0 + 1.0 + 4.0 * all);
    }

    #[test]
    fn the_producer_waits_for_its_only_slot() {
        assert_eq!(bound(|_| 4.0, 1.0, 2.0, 1), 5.0 * BATCHES as f64 + 2.0);
    }

    #[test]
    fn more_slots_help_where_batches_differ() {
        let make = |batch: usize| if batch % 8 == 7 { 9.0 } else { 1.0 };
        let ends = [1, 2, 3, 4].map(|slots| bound(make, 0.5, 2.4, slots));
        assert!(ends.is_sorted_by(|fewer, more| fewer > more), "{ends:?}");
    }
}
