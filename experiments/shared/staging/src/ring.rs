//! How the pieces of a copy pass through a ring of pinned memory.

use std::collections::VecDeque;
use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::slice::from_raw_parts_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::yield_now;

use cudarc::driver::{
    CudaContext, CudaEvent, CudaStream, DeviceRepr, DriverError, PinnedHostSlice, ValidAsZeroBits,
    result, sys,
};
use rayon::ThreadPool;

/// Copies queued at a time: one that runs, and the next.
const QUEUED: usize = 2;
/// Pieces for which it is worthwhile to let the next copy wait.
const ENOUGH: usize = 16;
/// How often a thread asks in vain before it yields its core.
const PATIENCE: u32 = 1000;

/// Where the bytes of a copy go.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    ToDevice,
    ToHost,
}

/// Pinned memory with room for some pieces of one size.
#[derive(Debug)]
pub(crate) struct Ring {
    memory: PinnedHostSlice<u8>,
    piece_bytes: usize,
    slots: usize,
    /// Where the next copy begins: behind the last one. At the start of the ring, short
    /// copies to the host were slow, perhaps since the cores' caches still held its slots.
    first: usize,
    /// The ends of the copies that are queued.
    ends: [CudaEvent; QUEUED],
}

/// The start of a ring's memory.
struct Memory(*mut u8);

// SAFETY: sharing the address does nothing; each use of it says why it is sound.
unsafe impl Sync for Memory {}

/// Set when it goes, also in a panic.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Ring {
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        piece_bytes: usize,
        slots: usize,
    ) -> Result<Ring, DriverError> {
        let memory = pinned(context, piece_bytes.saturating_mul(slots))?;
        let ends = [context.new_event(None)?, context.new_event(None)?];
        Ok(Ring { memory, piece_bytes, slots, first: 0, ends })
    }

    /// Passes `bytes` through the ring, between `pieces` in host memory and the GPU's
    /// memory from `device` on. The caller and `helpers` threads of the pool `carry` between
    /// a piece and its slot. The caller alone talks to the driver, so it is not behind another
    /// thread when the engine needs the next copy. Returns when all is carried and queued, or
    /// after an error: then, too, the caller must wait for the stream before the ring or
    /// that memory is used again. `carry` must not panic.
    pub(crate) fn pass<Piece: Send>(
        &mut self,
        (pool, helpers): (&ThreadPool, usize),
        stream: &CudaStream,
        (direction, device, bytes): (Direction, sys::CUdeviceptr, usize),
        pieces: impl ExactSizeIterator<Item = Piece> + Send,
        carry: impl Fn(Piece, &mut [MaybeUninit<u8>]) + Sync,
    ) -> Result<(), DriverError> {
        let (count, size, slots) = (pieces.len(), self.piece_bytes, self.slots);
        let longest = (slots / 4).max(1); // so that there is room to carry meanwhile
        let first = self.first;
        self.first = (first + count) % slots;
        let memory = Memory(self.memory.as_mut_ptr()?);
        // Piece i has slot (first + i) % slots. To the GPU it may be carried when the piece
        // before it in its slot is copied, and copied when it is carried itself; to the
        // host it is the other way round.
        let (carry_ahead, copy_ahead) = match direction {
            Direction::ToDevice => (slots, 0),
            Direction::ToHost => (0, slots),
        };
        // Each piece in a lock of its own, which nobody waits for.
        let pieces: Vec<_> = pieces.map(|piece| Mutex::new(Some(piece))).collect();
        let next = AtomicUsize::new(0); // pieces before it are taken
        let open = AtomicUsize::new(carry_ahead); // pieces before it may be carried
        let is_carried: Vec<_> = (0..count).map(|_| AtomicBool::new(false)).collect();
        let ended = AtomicBool::new(false);

        let span = |from: usize, to: usize| (to * size).min(bytes) - from * size;
        let slot_of = |i: usize| {
            let memory = &memory; // captures what is `Sync`, not the address in it
            memory.0.wrapping_add((first + i) % slots * size)
        };
        let take = || {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let mut piece = pieces.get(i)?.lock().unwrap_or_else(PoisonError::into_inner);
            Some((i, piece.take()?))
        };
        // ANCHOR: help
        let carry_piece = |(i, piece)| {
            // SAFETY: within the ring. Piece i is open, so the piece before it in its slot
            // has been carried and copied: no copy and no thread uses the slot until
            // `is_carried`, and no other thread has piece i.
            let slot = unsafe { from_raw_parts_mut(slot_of(i).cast(), span(i, i + 1)) };
            carry(piece, slot);
            is_carried[i].store(true, Ordering::Release);
        };
        let help = || {
            while let Some(next) = take() {
                let mut asked = 0;
                while next.0 >= open.load(Ordering::Acquire) {
                    if ended.load(Ordering::Acquire) {
                        return; // the caller has met an error
                    }
                    wait_a_moment(&mut asked);
                }
                carry_piece(next);
            }
        };
        // ANCHOR_END: help
        pool.in_place_scope(|scope| {
            let _ended = Ended(&ended);
            for _ in 0..helpers {
                scope.spawn(|_| help());
            }
            let (mut carried, mut copied, mut copies, mut mine) = (0, 0, 0, None);
            let mut queued = VecDeque::<(usize, &CudaEvent)>::new();
            let mut asked = 0;
            while carried.min(copied) < count {
                while let Some((end, event)) = queued.front()
                    && event.try_is_complete()?
                {
                    open.store(end + carry_ahead, Ordering::Release);
                    queued.pop_front();
                }
                while carried < count && is_carried[carried].load(Ordering::Acquire) {
                    carried += 1;
                }
                let ready = count.min(carried + copy_ahead);
                // Short copies first, so that there is something to copy or carry soon;
                // then longer ones, for each costs the engine a moment. Only while a copy
                // is queued may the next one wait until it has some length, so all pieces
                // get their turn.
                let (left, to_end) = (count - copied, slots - (first + copied) % slots);
                let (least, most) = match direction {
                    Direction::ToDevice if queued.is_empty() => (1, longest),
                    // Near the end there is little to wait for.
                    Direction::ToDevice => ((copied / 4).min(left / 4).min(ENOUGH), longest),
                    // And short ones last, so that there is little to carry after.
                    Direction::ToHost => (1, (copied / 2).min(left / 2).max(4)),
                };
                let most = most.min(longest).min(left).min(to_end);
                if queued.len() < QUEUED && copied + least.min(most).max(1) <= ready {
                    let end = ready.min(copied + most);
                    let there = device + (copied * size) as sys::CUdeviceptr;
                    let (here, bytes) = (slot_of(copied), span(copied, end));
                    // SAFETY: these slots are side by side in the ring, and nobody
                    // carries to or from them before the copy is over; as many bytes
                    // are on the GPU.
                    unsafe {
                        // Padding of what is copied is no initialised byte.
                        let here = here.cast::<MaybeUninit<u8>>();
                        let here = from_raw_parts_mut(here, bytes);
                        let queue = stream.cu_stream();
                        match direction {
                            Direction::ToDevice => result::memcpy_htod_async(there, here, queue),
                            Direction::ToHost => result::memcpy_dtoh_async(here, there, queue),
                        }
                    }?;
                    let event = &self.ends[copies % QUEUED];
                    event.record(stream)?;
                    queued.push_back((end, event));
                    (copied, copies) = (end, copies + 1);
                    continue;
                }
                // The engine has enough to do.
                match mine.take().or_else(take) {
                    Some(next) if next.0 < open.load(Ordering::Relaxed) => carry_piece(next),
                    other => {
                        mine = other;
                        wait_a_moment(&mut asked);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Lets a moment pass, and every so often gives other threads the core.
fn wait_a_moment(asked: &mut u32) {
    *asked = asked.wrapping_add(1);
    match *asked % PATIENCE {
        0 => yield_now(),
        _ => spin_loop(),
    }
}

/// Pinned memory for `count` elements, all zero. Not write-combined: the CPU reads what
/// comes from the GPU.
pub(crate) fn pinned<T: DeviceRepr + ValidAsZeroBits>(
    context: &Arc<CudaContext>,
    count: usize,
) -> Result<PinnedHostSlice<T>, DriverError> {
    // cudarc would panic.
    if count >= isize::MAX as usize / size_of::<T>().max(1) {
        return Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY));
    }
    // SAFETY: nothing reads the memory before it is zeroed.
    let mut memory = unsafe { context.alloc_pinned_with_flags::<T>(count, 0) }?;
    // SAFETY: that many elements, and zeros are valid ones.
    unsafe { memory.as_mut_ptr()?.write_bytes(0, count) };
    Ok(memory)
}
