// Makes each row of the grid the sum of the rows above and below it, `steps` times.

use cudarc::driver::CudaSlice;
use trial::{Gpu, Result};

// Rows of a GPU: its own are 1 to `rows`, row 0 and row `rows + 1` are the halo.
struct Part {
    rows: usize,
    now: CudaSlice<f32>,
    next: CudaSlice<f32>,
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
        parts.push(Part { rows, now, next });
    }
    for _ in 0..steps {
        // The halo: the last row of the part above, the first row of the part below.
        for rank in 1..gpus.len() {
            let (above, below) = parts.split_at_mut(rank);
            let (above, below) = (&mut above[rank - 1], &mut below[0]);
            let (last, halo) = (above.rows * columns, (above.rows + 1) * columns);
            gpus[rank].stream.memcpy_dtod(
                &above.now.slice(last..halo),
                &mut below.now.slice_mut(..columns),
            )?;
            gpus[rank - 1].stream.memcpy_dtod(
                &below.now.slice(columns..2 * columns),
                &mut above.now.slice_mut(halo..),
            )?;
        }
        for (rank, gpu) in gpus.iter().enumerate() {
            // The neighbours have copied this part's border rows.
            for other in gpus {
                gpu.stream.join(&other.stream)?;
            }
            let Part { rows, now, next } = &mut parts[rank];
            let above = now.slice(..*rows * columns);
            let below = now.slice(2 * columns..);
            let mut sums = next.slice_mut(columns..(*rows + 1) * columns);
            gpu.kernels.add(&gpu.stream, &above, &below, &mut sums)?;
            std::mem::swap(now, next);
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
