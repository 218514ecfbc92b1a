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
