// Makes each row of the grid the sum of the rows above and below it, `steps` times.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use trial::{Gpu, Result};

// Rows of a GPU: its own are 1 to `rows`, row 0 and row `rows + 1` are the halo.
struct Part {
    rows: usize,
    now: CudaSlice<f32>,
    next: CudaSlice<f32>,
    // For the copies into the halo, beside the kernels of the GPU's own stream.
    arrivals: Arc<CudaStream>,
}

impl Part {
    // Computes some of the rows, in the GPU's stream.
    fn compute(
        &mut self,
        gpu: &Gpu,
        columns: usize,
        rows: Range<usize>,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let numbers = |down: usize, up: usize| {
            (rows.start + down - up) * columns..(rows.end + down - up) * columns
        };
        let above = self.now.slice(numbers(0, 1));
        let below = self.now.slice(numbers(1, 0));
        let mut sums = self.next.slice_mut(numbers(0, 0));
        gpu.kernels.add(&gpu.stream, &above, &below, &mut sums)
    }
}

pub fn run(
    gpus: &[Gpu],
    grid: &mut [f32], // pinned; row after row
    columns: usize,
    steps: usize,
) -> Result<()> {
    let rows = grid.len() / columns;
    let begin = |rank: usize| rank * rows / gpus.len();
    let mut parts = vec![];
    for (rank, gpu) in gpus.iter().enumerate() {
        let (first, behind) = (begin(rank), begin(rank + 1));
        let rows = behind - first;
        let new = || gpu.stream.alloc_zeros::<f32>((rows + 2) * columns);
        let (mut now, next) = (new()?, new()?);
        let mut own = now.slice_mut(columns..(rows + 1) * columns);
        gpu.stream
            .memcpy_htod(&grid[first * columns..behind * columns], &mut own)?;
        let arrivals = gpu.context.new_stream()?;
        arrivals.join(&gpu.stream)?; // the halo's memory is there
        parts.push(Part { rows, now, next, arrivals });
    }
    for _ in 0..steps {
        // Called before an interior is queued, a copy waits for the border rows and no more.
        for rank in 1..gpus.len() {
            let (above, below) = parts.split_at_mut(rank);
            let (above, below) = (&mut above[rank - 1], &mut below[0]);
            let (last, halo) = (above.rows * columns, (above.rows + 1) * columns);
            below.arrivals.memcpy_dtod(
                &above.now.slice(last..halo),
                &mut below.now.slice_mut(..columns),
            )?;
            above.arrivals.memcpy_dtod(
                &below.now.slice(columns..2 * columns),
                &mut above.now.slice_mut(halo..),
            )?;
        }
        for (gpu, part) in gpus.iter().zip(&mut parts) {
            let rows = part.rows;
            part.compute(gpu, columns, 2..rows)?;
            // The halo is read, and the rows that the neighbours have copied are overwritten:
            // they did so before they computed what has arrived here.
            gpu.stream.join(&part.arrivals)?;
            part.compute(gpu, columns, 1..2)?;
            part.compute(gpu, columns, rows..rows + 1)?;
            std::mem::swap(&mut part.now, &mut part.next);
        }
    }
    for (rank, gpu) in gpus.iter().enumerate() {
        let own = parts[rank].now.slice(columns..(parts[rank].rows + 1) * columns);
        let place = &mut grid[begin(rank) * columns..begin(rank + 1) * columns];
        gpu.stream.memcpy_dtoh(&own, place)?;
    }
    for gpu in gpus {
        gpu.stream.synchronize()?;
    }
    Ok(())
}
