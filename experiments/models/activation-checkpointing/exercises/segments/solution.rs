// The layers whose inputs are kept, so that no more than `cap` activations are there at a time.

pub fn starts(layers: usize, cap: usize) -> Vec<usize> {
    // Each segment has one more kept activation before it than the last one, so it has to be
    // one layer shorter. Where all fit, the first takes all.
    let mut starts = vec![];
    let mut start = 0;
    while start < layers {
        let length = cap - 1 - starts.len();
        starts.push(start);
        start += length;
    }
    starts
}
