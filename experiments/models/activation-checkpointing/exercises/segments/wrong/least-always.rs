// The layers whose inputs are kept, so that no more than `cap` activations are there at a time.

pub fn starts(layers: usize, cap: usize) -> Vec<usize> {
    // As little memory as there can be, whatever the cap.
    let _ = cap;
    let most = (1..).find(|most| most * (most - 1) / 2 >= layers).unwrap_or(1);
    let mut starts = vec![];
    let mut start = 0;
    while start < layers {
        let length = most - 1 - starts.len();
        starts.push(start);
        start += length;
    }
    starts
}
