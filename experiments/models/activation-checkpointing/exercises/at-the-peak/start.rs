// How many activations are there at a time, at most, during the backward pass.

pub fn at_the_peak(lengths: &[usize]) -> usize {
    let kept = lengths.len() - 1;
    let longest = lengths.iter().max().copied().unwrap_or(1);
    kept + (longest - 1) + 2
}
