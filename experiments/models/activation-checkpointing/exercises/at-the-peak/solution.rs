// How many activations are there at a time, at most, during the backward pass.

pub fn at_the_peak(lengths: &[usize]) -> usize {
    // In the segment with the number j, as many have been kept as there are segments before it.
    let there = lengths.iter().enumerate().map(|(j, length)| j + (length - 1) + 2);
    there.max().unwrap_or(0)
}
