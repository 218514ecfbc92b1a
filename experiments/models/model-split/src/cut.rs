//! Four ways to cut a net and its batch, and what each of them has to send.

use std::ops::Range;

/// A batch, and a net of `layers` matrices of `width` × `width`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) width: usize,
    pub(crate) layers: usize,
}

lab::words! {
    /// How a step of training is divided among the GPUs.
    pub(crate) enum Cut {
        /// One GPU has the whole batch and all weights.
        One = "one",
        /// Each GPU has a part of the batch, and all weights.
        Data = "data",
        /// Each has a part of the batch, and of each layer's weights.
        State = "state",
        /// Each has some columns of even layers' weights, and the same rows of odd layers'.
        Columns = "columns",
        /// Each has some of the layers.
        Layers = "layers",
    }
}

/// Part i of `count` things that `parts` share: parts differ by one at most.
pub(crate) fn part(count: usize, parts: usize, i: usize) -> Range<usize> {
    count * i / parts..count * (i + 1) / parts
}

/// A rectangle of a layer's weights, whose first element is the layer's element `first`.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) layer: usize,
    pub(crate) first: usize,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
}

impl Part {
    pub(crate) fn words(&self) -> usize {
        self.rows * self.columns
    }
}

/// What one GPU keeps and computes.
pub(crate) struct Share {
    pub(crate) shape: Shape,
    /// Rows of the batch.
    pub(crate) rows: Range<usize>,
    /// Layers that the GPU computes.
    pub(crate) layers: Range<usize>,
    /// Weights that the GPU keeps, in the order of layers.
    pub(crate) parts: Vec<Part>,
    /// Columns of what goes into odd layers.
    pub(crate) inner: usize,
    /// Whether the GPU computes with weights that it only borrows.
    pub(crate) borrows: bool,
    /// Words that others may send at a time, to be added.
    pub(crate) inbox: usize,
}

impl Share {
    /// What GPU `i` of `gpus` keeps and computes.
    pub(crate) fn new(cut: Cut, shape: Shape, gpus: usize, i: usize) -> Share {
        let Shape { rows, width, layers } = shape;
        let square = width * width;
        let mine = |count| part(count, gpus, i);
        let others = |words: usize| (gpus - 1) * words.div_ceil(gpus);
        let whole = Part { layer: 0, first: 0, rows: width, columns: width };
        let every_layer = |part: &dyn Fn(usize) -> Part| -> Vec<Part> {
            (0..layers).map(|layer| Part { layer, ..part(layer) }).collect()
        };
        let all = Share {
            shape,
            rows: 0..rows,
            layers: 0..layers,
            parts: every_layer(&|_| whole),
            inner: width,
            borrows: false,
            inbox: 0,
        };
        match cut {
            Cut::One => all,
            Cut::Data => {
                Share { rows: mine(rows), inbox: others(layers * square), ..all }
            }
            Cut::State => {
                let Range { start: first, end } = mine(square);
                let strip = Part { first, rows: 1, columns: end - first, ..whole };
                Share {
                    rows: mine(rows),
                    parts: every_layer(&|_| strip),
                    borrows: true,
                    inbox: others(square),
                    ..all
                }
            }
            Cut::Columns => {
                let (first, inner) = (mine(width).start, mine(width).len());
                let half = |layer: usize| match layer.is_multiple_of(2) {
                    true => Part { first, columns: inner, ..whole },
                    false => Part { first: first * width, rows: inner, ..whole },
                };
                let parts = every_layer(&half);
                Share { parts, inner, inbox: others(rows * width), ..all }
            }
            Cut::Layers => {
                let parts = all.parts[mine(layers)].to_vec();
                Share { layers: mine(layers), parts, ..all }
            }
        }
    }

    /// Words of all weights that the GPU keeps.
    pub(crate) fn words(&self) -> usize {
        self.parts.iter().map(Part::words).sum()
    }

    /// The layers whose input the GPU has; what comes out of the last counts as one more.
    pub(crate) fn activations(&self) -> Range<usize> {
        self.layers.start..self.layers.end + 1
    }

    /// Columns of what goes into a layer, on this GPU.
    pub(crate) fn width(&self, layer: usize) -> usize {
        if layer.is_multiple_of(2) { self.shape.width } else { self.inner }
    }

    /// Where some rows of what goes into a layer lie.
    pub(crate) fn words_of(
        &self,
        layer: usize,
        rows: &Range<usize>,
    ) -> Range<usize> {
        rows.start * self.width(layer)..rows.end * self.width(layer)
    }
}

/// What all GPUs together send in a step, and how often one of them waits for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) bytes: usize,
    pub(crate) messages: usize,
    pub(crate) waits: usize,
}

/// Bytes that all GPUs together keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) weights: usize,
    pub(crate) gradients: usize,
    pub(crate) activations: usize,
}

// ANCHOR: formulas
impl Cut {
    /// What all GPUs together send in a step, and how often one of them waits for others.
    pub(crate) fn sends(
        self,
        shape: Shape,
        gpus: usize,
        micro_batches: usize,
    ) -> Sent {
        let Shape { rows, width, layers } = shape;
        let (weights, activation) = (layers * width * width, rows * width);
        let others = gpus - 1;
        let all_to_all = gpus * others; // messages, if each sends to each
        let (words, messages, waits) = match self {
            Cut::One => (0, 0, 0),
            Cut::Data => (2 * others * weights, 2 * all_to_all, 2 * gpus),
            Cut::State => {
                (3 * others * weights, 3 * layers * all_to_all, 5 * layers * gpus)
            }
            Cut::Columns => (
                2 * layers * others * activation,
                2 * layers * all_to_all,
                2 * layers * gpus,
            ),
            Cut::Layers => {
                let messages = 2 * others * micro_batches;
                (2 * others * activation, messages, messages)
            }
        };
        Sent { bytes: words * size_of::<u32>(), messages, waits }
    }

    /// What all GPUs together keep.
    pub(crate) fn holds(self, shape: Shape, gpus: usize) -> Held {
        let Shape { rows, width, layers } = shape;
        let (weights, activation) = (layers * width * width, rows * width);
        let copies = if self == Cut::Data { gpus } else { 1 };
        let activations = match self {
            Cut::One | Cut::Data | Cut::State => layers + 1,
            Cut::Columns => layers / 2 + (layers / 2 + 1) * gpus,
            Cut::Layers => layers + gpus,
        };
        let bytes = |words| words * size_of::<u32>();
        Held {
            weights: bytes(copies * weights),
            gradients: bytes(copies * weights),
            activations: bytes(activations * activation),
        }
    }
}
// ANCHOR_END: formulas

#[cfg(test)]
mod tests {
    use super::{Cut, Shape, Share};

    const SHAPE: Shape = Shape { rows: 37, width: 29, layers: 8 };

    fn shares(cut: Cut, gpus: usize) -> Vec<Share> {
        (0..gpus).map(|i| Share::new(cut, SHAPE, gpus, i)).collect()
    }

    #[test]
    fn every_weight_is_kept_by_one_gpu_or_with_data_by_all() {
        let Shape { width, layers, .. } = SHAPE;
        for (cut, gpus) in
            Cut::ALL.into_iter().flat_map(|cut| [(cut, 1), (cut, 3), (cut, 8)])
        {
            if cut == Cut::One && gpus > 1 {
                continue;
            }
            let mut owners = vec![0; layers * width * width];
            for part in shares(cut, gpus).iter().flat_map(|share| &share.parts) {
                for row in 0..part.rows {
                    let first =
                        part.layer * width * width + part.first + row * width;
                    owners[first..][..part.columns].iter_mut().for_each(|n| *n += 1);
                }
            }
            let expected = if cut == Cut::Data { gpus } else { 1 };
            assert!(owners.iter().all(|n| *n == expected), "{cut:?} on {gpus} GPUs");
        }
    }

    #[test]
    fn gpus_hold_what_the_formulas_say() {
        for (cut, gpus) in [
            (Cut::One, 1),
            (Cut::Data, 3),
            (Cut::State, 3),
            (Cut::Columns, 4),
            (Cut::Layers, 8),
        ] {
            let (mut weights, mut activations) = (0, 0);
            for share in shares(cut, gpus) {
                weights += share.words();
                let columns: usize =
                    share.activations().map(|layer| share.width(layer)).sum();
                activations += share.rows.len() * columns;
            }
            let held = cut.holds(SHAPE, gpus);
            assert_eq!(
                [4 * weights, 4 * activations],
                [held.weights, held.activations]
            );
        }
    }

    #[test]
    fn one_gpu_sends_nothing() {
        for cut in Cut::ALL {
            let sent = cut.sends(SHAPE, 1, 2);
            assert_eq!([sent.bytes, sent.messages], [0, 0], "{cut:?}");
        }
    }
}
