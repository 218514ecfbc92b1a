// The layers whose inputs are kept, so that no more than `cap` activations are there at a time.

pub fn starts(layers: usize, cap: usize) -> Vec<usize> {
    let mut starts = vec![];
    let mut start = 0;
    while start < layers {
        let length = cap - starts.len();
        starts.push(start);
        start += length;
    }
    starts
}
