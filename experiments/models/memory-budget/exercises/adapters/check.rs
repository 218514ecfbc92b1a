use mine::{Matrix, state_bytes};
use trial::{Result, Trial};

pub fn check(trial: &mut Trial) -> Result<()> {
    // what it is; matrices' sides, how many of each, other parameters, rank
    for (model, sides, count, others, rank) in [
        ("one matrix of 4 × 6", &[(4, 6)][..], 1, 0, 2),
        ("the same and 10 others", &[(4, 6)], 1, 10, 2),
        ("two shapes", &[(1024, 1024), (1024, 4096)], 8, 17_408, 16),
        ("everything trained", &[(1024, 1024), (1024, 4096)], 8, 17_408, 0),
        (
            "Llama-2-7B",
            &[
                (4096, 4096),
                (4096, 4096),
                (4096, 4096),
                (4096, 4096),
                (4096, 11_008),
                (4096, 11_008),
                (11_008, 4096),
            ],
            32,
            262_410_240, // the first and the last matrix, and the normalisations
            16,
        ),
    ] {
        let of = |(inputs, outputs): &(u64, u64)| Matrix {
            inputs: *inputs,
            outputs: *outputs,
        };
        let all = || (0..count).flat_map(|_| sides);
        let matrices: Vec<Matrix> = all().map(of).collect();
        let title = format!("{model}, rank {rank}");
        let found =
            trial.watch(&title, || Ok(state_bytes(&matrices, others, rank)))?;
        // Tensor by tensor: what is frozen, and what is trained.
        let (mut frozen, mut trained) = (others, 0);
        for (inputs, outputs) in all() {
            frozen += inputs * outputs;
            trained += inputs * rank + rank * outputs;
        }
        if rank == 0 {
            (frozen, trained) = (0, frozen);
        }
        let wanted = 2 * frozen + (2 + 2 + 12) * trained;
        if found != wanted {
            trial.wrong(&format!("{title}: {found} bytes, and has to be {wanted}"));
        }
    }
    Ok(())
}
