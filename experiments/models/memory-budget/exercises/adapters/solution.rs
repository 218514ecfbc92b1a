// The bytes of weights, gradients and optimiser's states in training with adapters.

/// A matrix by its sides.
pub struct Matrix {
    pub inputs: u64,
    pub outputs: u64,
}

/// `others` counts the parameters that are in no matrix; rank 0 trains everything.
pub fn state_bytes(matrices: &[Matrix], others: u64, rank: u64) -> u64 {
    let entries: u64 =
        matrices.iter().map(|matrix| matrix.inputs * matrix.outputs).sum();
    if rank == 0 {
        return 16 * (entries + others);
    }
    // Two thin matrices for each, inputs × rank and rank × outputs.
    let sides: u64 =
        matrices.iter().map(|matrix| matrix.inputs + matrix.outputs).sum();
    2 * (entries + others) + 16 * rank * sides
}
