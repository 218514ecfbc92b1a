// The layers whose inputs are kept, so that no more than `cap` activations are there at a time.

pub fn starts(layers: usize, cap: usize) -> Vec<usize> {
    // Where all fit, they are one segment.
    if layers + 1 <= cap {
        return vec![0];
    }
    let length = (layers as f64).sqrt().round() as usize;
    (0..layers).step_by(length).collect()
}
