//! Copying with non-temporal stores, which bypass the CPU's caches.

use std::mem::MaybeUninit;

/// Copies `from` to `to` with stores that do not read first.
///
/// A core that writes to memory normally fetches the cache line first, because it may
/// write only a part of it, and drops it from its cache later. So every byte written
/// crosses the memory bus twice. *Non-temporal* stores collect a whole line and send it
/// off. That is the better way for a target that is larger than the caches, and
/// the worse one for a target that is read again soon.
///
/// On processors other than x86-64 this is a plain copy.
///
/// # Panics
///
/// If the slices differ in length.
pub fn copy_non_temporal(from: &[u8], to: &mut [MaybeUninit<u8>]) {
    assert_eq!(from.len(), to.len(), "both must have the same length");
    #[cfg(target_arch = "x86_64")]
    x86_64::copy(from, to);
    #[cfg(not(target_arch = "x86_64"))]
    to.write_copy_of_slice(from);
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::x86_64::{
        __m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128,
    };
    use std::mem::MaybeUninit;

    /// A cache line, in the pieces that one instruction stores. Every x86-64 has it.
    #[repr(C, align(64))]
    struct Line([__m128i; 4]);

    // ANCHOR: copy
    pub(super) fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) {
        // SAFETY: uninitialised lines are uninitialised bytes.
        let (head, lines, tail) = unsafe { to.align_to_mut::<MaybeUninit<Line>>() };
        let (start, rest) = from.split_at(head.len());
        let (middle, end) = rest.split_at(size_of_val(lines));
        head.write_copy_of_slice(start);
        for (source, line) in middle.chunks_exact(size_of::<Line>()).zip(lines) {
            let source = source.as_ptr().cast::<__m128i>();
            let line = line.as_mut_ptr().cast::<__m128i>();
            for i in 0..4 {
                // SAFETY: `source` is as long as `line`, which is aligned.
                unsafe {
                    _mm_stream_si128(line.add(i), _mm_loadu_si128(source.add(i)));
                }
            }
        }
        tail.write_copy_of_slice(end);
        // Such stores may be seen late by other cores, which must not see what the
        // copy's end sets off before.
        // SAFETY: it is there wherever the stores are.
        unsafe { _mm_sfence() };
    }
    // ANCHOR_END: copy
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::copy_non_temporal;

    #[test]
    fn every_size_and_alignment_arrives() {
        let source: Vec<u8> = (0..600).map(|i| (i % 251) as u8).collect();
        for from in [0, 1, 3, 16, 63] {
            for to in 0..65 {
                for count in (0..70).chain([127, 128, 129, 400]) {
                    let mut target = vec![MaybeUninit::new(0xA5); 600];
                    copy_non_temporal(
                        &source[from..from + count],
                        &mut target[to..to + count],
                    );
                    // SAFETY: every byte was written when the Vec was made.
                    let target = target.iter().map(|b| unsafe { b.assume_init() });
                    let mut expected = vec![0xA5; 600];
                    expected[to..to + count]
                        .copy_from_slice(&source[from..from + count]);
                    assert!(target.eq(expected), "{count} from {from} to {to}");
                }
            }
        }
    }
}
