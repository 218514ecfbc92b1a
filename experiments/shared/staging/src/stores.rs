//! Copying with non-temporal stores, which bypass the CPU's caches.

use std::mem::MaybeUninit;

/// Copies `from` to `to` with stores that do not read first.
///
/// A core that writes to memory usually fetches the cache line first, because it may
/// write only a part of it, and drops it from its cache later: every byte written crosses
/// the memory bus twice. *Non-temporal* stores collect a whole line and send it
/// off. That is the better way for a target that is larger than the caches, or that a
/// copy engine reads next, and the worse one for a target that this core reads again
/// soon.
///
/// On processors other than x86-64 this is a plain copy.
///
/// # Panics
///
/// If the slices differ in length.
pub fn copy_non_temporal(to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
    assert_eq!(from.len(), to.len(), "both must have the same length");
    #[cfg(target_arch = "x86_64")]
    x86_64::copy(to, from);
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::{asm, x86_64::_mm_sfence};
    use std::mem::MaybeUninit;

    /// A cache line.
    #[derive(Clone, Copy)]
    #[repr(align(64))]
    struct Line(#[allow(dead_code)] [u8; 64]);

    // ANCHOR: copy
    pub(super) fn copy(to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
        // SAFETY: uninitialised lines are uninitialised bytes.
        let (head, lines, tail) = unsafe { to.align_to_mut::<MaybeUninit<Line>>() };
        let (start, rest) = from.split_at(head.len());
        let (middle, end) = rest.split_at(size_of_val(lines));
        head.copy_from_slice(start);
        for (source, line) in middle.chunks_exact(64).zip(lines) {
            // SAFETY: `source` is as long as `line`, which is aligned. In assembly, for
            // these bytes need not be initialised. Every x86-64 has the instructions.
            unsafe {
                asm!(
                    "movups {a}, [{source}]",
                    "movups {b}, [{source} + 16]",
                    "movups {c}, [{source} + 32]",
                    "movups {d}, [{source} + 48]",
                    "movntps [{line}], {a}",
                    "movntps [{line} + 16], {b}",
                    "movntps [{line} + 32], {c}",
                    "movntps [{line} + 48], {d}",
                    source = in(reg) source.as_ptr(),
                    line = in(reg) line,
                    a = out(xmm_reg) _, b = out(xmm_reg) _,
                    c = out(xmm_reg) _, d = out(xmm_reg) _,
                    options(nostack, preserves_flags),
                );
            }
        }
        tail.copy_from_slice(end);
        // Other cores may see these stores late. The fence makes them visible before
        // whatever this core writes next, such as that the copy is done.
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
        let source: Vec<_> =
            (0..600).map(|i| MaybeUninit::new((i % 251) as u8)).collect();
        for from in [0, 1, 3, 16, 63] {
            for to in 0..65 {
                for count in (0..70).chain([127, 128, 129, 400]) {
                    let mut target = vec![MaybeUninit::new(0xA5); 600];
                    let (piece, room) =
                        (&source[from..from + count], &mut target[to..to + count]);
                    copy_non_temporal(room, piece);
                    // SAFETY: every byte was written when the Vec was made.
                    let [source, target] = [&source, &target]
                        .map(|bytes| unsafe { bytes.assume_init_ref() });
                    let mut expected = vec![0xA5; 600];
                    expected[to..to + count]
                        .copy_from_slice(&source[from..from + count]);
                    assert!(target == expected, "{count} from {from} to {to}");
                }
            }
        }
    }
}
