// The layers whose inputs are kept, so that no more than `cap` activations are there at a time.

pub fn starts(layers: usize, cap: usize) -> Vec<usize> {
    // The longest segment is the last: it need not be computed again.
    let mut ends = vec![];
    let mut end = layers;
    while end > 0 {
        let length = cap - 1 - ends.len();
        ends.push(end);
        end = end.saturating_sub(length);
    }
    ends.iter().rev().scan(0, |start, end| Some(std::mem::replace(start, *end))).collect()
}
