use trial::{Result, Trial, numbers, pinned};

pub fn check(trial: &mut Trial) -> Result<()> {
    let gpus = trial.gpus()?;
    let n = gpus.len();
    for (rows, columns, steps) in [(2 * n, 1, 1), (5 * n + 1, 3, 4), (48, 500, 8)] {
        let mut wanted = numbers(rows * columns, 5);
        let mut memory = pinned(trial.context(), rows * columns, |i| wanted[i])?;
        let grid = memory.as_mut_slice()?;
        let title =
            format!("{steps} steps of {rows} × {columns} numbers on {n} GPUs");
        let found = trial.watch(&title, || {
            mine::run(&gpus, grid, columns, steps)?;
            Ok(grid.to_vec())
        })?;
        for _ in 0..steps {
            let number = |i: usize| wanted.get(i).copied().unwrap_or(0.0);
            let above = |i: usize| i.checked_sub(columns).map_or(0.0, number);
            wanted =
                (0..wanted.len()).map(|i| above(i) + number(i + columns)).collect();
        }
        trial.equal("numbers", &found, &wanted);
        trial.size("gpus", n);
        trial.size("steps", steps);
        trial.size("row", 4 * columns);
        trial.size("bytes", 4 * rows * columns);
    }
    Ok(())
}
