//! One epoch, serially and with a loader: batches are made, sent, and worked on.

use std::sync::mpsc::{RecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use lab::Result;
use staging::Loader;

use crate::device::{BATCHES, Epoch, Trainer};
use crate::maker::Maker;

impl Trainer {
    // ANCHOR: serial
    /// One step after the other: the host waits for each batch.
    pub(crate) fn serial(
        &mut self,
        maker: &Maker,
        host: &mut [u32],
    ) -> Result<Epoch> {
        let mut made = vec![];
        let start = self.begin()?;
        for batch in 0..BATCHES {
            let began = Instant::now();
            maker.make(batch, host);
            made.push([began, Instant::now()]);
            let [before, after] = &self.marks[batch].copy;
            before.record(&self.kernels)?;
            self.kernels.memcpy_htod(host, &mut self.halves[0].batch)?;
            after.record(&self.kernels)?;
            self.launch(batch, 0)?;
            self.kernels.synchronize()?;
        }
        self.end(start, &made)
    }
    // ANCHOR_END: serial

    /// The loader's producer makes batches ahead; one is sent while a kernel works on
    /// the one before.
    pub(crate) fn with_loader(
        &mut self,
        maker: &Maker,
        slots: usize,
    ) -> Result<Epoch> {
        let (go, started) = channel();
        let made = Arc::new(Mutex::new(vec![]));
        let (log, maker, mut next) = (made.clone(), maker.clone(), 0);
        let fill = move |slot: &mut [u32]| {
            match next {
                0 => started.recv()?, // not before the clock
                BATCHES => return Ok(0),
                _ => {}
            }
            let began = Instant::now();
            maker.make(next, slot);
            let times = [began, Instant::now()];
            log.lock().unwrap_or_else(PoisonError::into_inner).push(times);
            next += 1;
            Ok::<_, RecvError>(slot.len())
        };
        let mut loader =
            Loader::new(self.kernels.context(), slots, self.words, fill)?;
        let go = go; // is dropped before the loader, which waits for the producer
        let start = self.begin()?;
        go.send(())?;
        // ANCHOR: consume
        for batch in 0..BATCHES {
            let half = &mut self.halves[batch % 2];
            self.copies.wait(&half.free)?; // by the kernel before the last
            self.marks[batch].copy[0].record(&self.copies)?;
            loader.next(&self.copies, &mut half.batch)?;
            self.marks[batch].copy[1].record(&self.copies)?;
            half.arrived.record(&self.copies)?;
            self.kernels.wait(&half.arrived)?;
            self.launch(batch, batch % 2)?;
            self.halves[batch % 2].free.record(&self.kernels)?;
        }
        // ANCHOR_END: consume
        self.kernels.synchronize()?;
        self.end(start, &made.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
