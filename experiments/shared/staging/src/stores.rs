//! Ways to copy: with ordinary stores, and so that nothing of the target stays in the core's
//! own caches.

use std::mem::MaybeUninit;

/// Which stores a copy makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Ordinary ones.
    Plain,
    /// Non-temporal ones, which bypass the caches; ordinary ones, where the processor is no
    /// x86-64.
    PastCaches,
    /// Ordinary ones, whose lines are demoted: handed to the cache that all cores share.
    /// Where the processor cannot demote, the same as `PastCaches`.
    Demoted,
}

impl Stores {
    /// All that this processor has.
    pub fn all() -> &'static [Stores] {
        const ALL: [Stores; 3] = [Stores::Plain, Stores::PastCaches, Stores::Demoted];
        if demotes() { &ALL } else { &ALL[..2] }
    }

    /// Copies `from` to `to`.
    ///
    /// # Panics
    ///
    /// If the slices differ in length.
    pub fn copy(self, to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
        match self {
            Stores::Plain => to.copy_from_slice(from),
            Stores::PastCaches => copy_non_temporal(to, from),
            Stores::Demoted => copy_demoted(to, from),
        }
    }
}

impl Default for Stores {
    /// What a copy engine fetches fastest, of what this processor has.
    fn default() -> Stores {
        if demotes() { Stores::Demoted } else { Stores::PastCaches }
    }
}

/// Copies `from` to `to` with stores that do not read first.
///
/// A core that writes to memory usually fetches the cache line first, because it may
/// write only a part of it, and writes it back later: every byte written crosses
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
pub(crate) fn copy_non_temporal(to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
    assert_eq!(from.len(), to.len(), "both must have the same length");
    #[cfg(target_arch = "x86_64")]
    x86_64::copy(to, from);
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Copies `from` to `to` for a copy engine to fetch soon: leaves `to` in the cache that all
/// cores share.
///
/// What a core has written stays in its own cache for a while, and is slow to fetch from
/// there. *Demoting* a line (`CLDEMOTE`) asks the core to hand it to the shared cache now.
/// Non-temporal stores would send it to memory, and whole copies were slower with them.
///
/// On processors that cannot demote this is [`copy_non_temporal`].
///
/// # Panics
///
/// If the slices differ in length.
fn copy_demoted(to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
    assert_eq!(from.len(), to.len(), "both must have the same length");
    #[cfg(target_arch = "x86_64")]
    if demotes() {
        return x86_64::copy_demoted(to, from);
    }
    copy_non_temporal(to, from);
}

/// Whether this processor has an instruction that hands a line to the shared cache: Intel's
/// server processors since 2023.
fn demotes() -> bool {
    #[cfg(target_arch = "x86_64")]
    return *x86_64::DEMOTES;
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(target_arch = "x86_64")]
mod x86_64 {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count, _mm_sfence};
    use std::mem::MaybeUninit;
    use std::ptr::copy_nonoverlapping;
    use std::sync::LazyLock;

    /// A cache line.
    #[repr(align(64))]
    struct Line(#[allow(dead_code)] [u8; 64]);

    /// Copies what lies before the first whole line of `to` and after the last, and returns
    /// these lines and what goes there.
    fn copy_edges<'a>(
        to: &'a mut [MaybeUninit<u8>],
        from: &'a [MaybeUninit<u8>],
    ) -> (&'a mut [MaybeUninit<Line>], &'a [MaybeUninit<u8>]) {
        // SAFETY: uninitialised lines are uninitialised bytes.
        let (head, lines, tail) = unsafe { to.align_to_mut::<MaybeUninit<Line>>() };
        let (start, rest) = from.split_at(head.len());
        let (middle, end) = rest.split_at(size_of_val(lines));
        head.copy_from_slice(start);
        tail.copy_from_slice(end);
        (lines, middle)
    }

    // ANCHOR: copy
    pub(super) fn copy(to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
        let (lines, from) = copy_edges(to, from);
        for (source, line) in from.chunks_exact(64).zip(lines) {
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
        // Other cores may see these stores late. The fence makes them visible before
        // whatever this core writes next, such as that the copy is done.
        // SAFETY: SSE is part of every x86-64.
        unsafe { _mm_sfence() };
    }
    // ANCHOR_END: copy

    /// What `demotes` says. Asked once: a virtual machine takes long to answer.
    pub(super) static DEMOTES: LazyLock<bool> =
        LazyLock::new(|| __cpuid(0).eax >= 7 && __cpuid_count(7, 0).ecx & 1 << 25 != 0);

    /// A line is demoted when so many more have been written: by then its stores have most
    /// likely left the core's queue. On the hosts that were tried 1 to 32 made no difference.
    const BEHIND: usize = 8;

    // ANCHOR: demoted
    pub(super) fn copy_demoted(to: &mut [MaybeUninit<u8>], from: &[MaybeUninit<u8>]) {
        let (lines, from) = copy_edges(to, from);
        for (i, source) in from.chunks_exact(64).enumerate() {
            let line = lines[i].as_mut_ptr().cast();
            // SAFETY: `source` is as long as `line`, and borrowed beside it.
            unsafe { copy_nonoverlapping(source.as_ptr(), line, 64) };
            if i >= BEHIND {
                demote(&lines[i - BEHIND]);
            }
        }
        lines[lines.len().saturating_sub(BEHIND)..].iter().for_each(demote);
    }
    // ANCHOR_END: demoted

    /// Asks for a line to be handed to the cache that all cores share.
    fn demote(line: &MaybeUninit<Line>) {
        // SAFETY: a hint, which changes no byte. Processors without it take it for nothing.
        unsafe {
            asm!(
                "cldemote [{line}]",
                line = in(reg) line,
                options(nostack, preserves_flags),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::{copy_demoted, copy_non_temporal};

    #[test]
    fn every_size_and_alignment_arrives() {
        const SIZE: usize = 900;
        let copies = [
            copy_non_temporal,
            copy_demoted,
            #[cfg(target_arch = "x86_64")] // to others the instruction does nothing
            super::x86_64::copy_demoted,
        ];
        let source: Vec<_> = (0..SIZE).map(|i| MaybeUninit::new((i % 251) as u8)).collect();
        for (which, copy) in copies.into_iter().enumerate() {
            for (from, to) in
                [0, 1, 3, 16, 63].into_iter().flat_map(|a| (0..65).map(move |b| (a, b)))
            {
                for count in (0..70).chain([127, 128, 129, 400, 640, 700]) {
                    let mut target = vec![MaybeUninit::new(0xA5); SIZE];
                    let (piece, room) = (&source[from..from + count], &mut target[to..to + count]);
                    copy(room, piece);
                    // SAFETY: every byte was written when the Vec was made.
                    let [source, target] =
                        [&source, &target].map(|bytes| unsafe { bytes.assume_init_ref() });
                    let mut expected = vec![0xA5; SIZE];
                    expected[to..to + count].copy_from_slice(&source[from..from + count]);
                    assert!(target == expected, "{which}: {count} from {from} to {to}");
                }
            }
        }
    }
}
