//! Four ways to cut a net and its batch, and what each of them has to send.

use std::ops::Range;

use crate::team::Sent;

/// A batch, and a net of `layers` matrices of `width` × `width`.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) rows: usize,
    pub(crate) width: usize,
    pub(crate) layers: usize,
}

/// A way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Each GPU has a part of the batch, and all weights. One GPU has all of both.
    Data,
    /// Each has a part of the batch, and of each layer's weights.
    State,
    /// Each has some columns of even layers' weights, and the same rows of odd layers'.
    Columns,
    /// Each has some of the layers.
    Layers,
}

/// Part i of `count` things that `parts` share: parts differ by one at most.
pub(crate) fn part(count: usize, parts: usize, i: usize) -> Range<usize> {
    count * i / parts..count * (i + 1) / parts
}

/// What a GPU keeps of a layer's weights: a rectangle, whose first element is the layer's
/// element `first`.
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

/// What a GPU has.
pub(crate) struct Cut {
    pub(crate) shape: Shape,
    /// Rows of the batch.
    pub(crate) rows: Range<usize>,
    /// Layers that it computes.
    pub(crate) layers: Range<usize>,
    /// What it keeps of the weights, in the order of layers.
    pub(crate) parts: Vec<Part>,
    /// Columns of what goes into odd layers.
    pub(crate) inner: usize,
    /// Whether it computes with weights that it only borrows.
    pub(crate) borrows: bool,
    /// Words that others may send at a time, to be added.
    pub(crate) inbox: usize,
}

impl Cut {
    /// That of GPU i of `gpus`.
    pub(crate) fn new(way: Way, shape: Shape, gpus: usize, i: usize) -> Cut {
        let Shape { rows, width, layers } = shape;
        let square = width * width;
        let whole = |layer| Part { layer, first: 0, rows: width, columns: width };
        let mine = |count| part(count, gpus, i);
        let strip = mine(width);
        let parts = |part: &dyn Fn(usize) -> Part| (0..layers).map(part).collect();
        let cut = Cut {
            shape,
            rows: 0..rows,
            layers: 0..layers,
            parts: vec![],
            inner: width,
            borrows: false,
            inbox: 0,
        };
        let others = |words: usize| (gpus - 1) * words.div_ceil(gpus);
        match way {
            Way::Data => Cut {
                rows: mine(rows),
                parts: parts(&whole),
                inbox: others(layers * square),
                ..cut
            },
            Way::State => {
                let Range { start: first, end } = mine(square);
                let columns = end - first;
                Cut {
                    rows: mine(rows),
                    parts: parts(&|layer| Part { layer, first, rows: 1, columns }),
                    borrows: true,
                    inbox: others(square),
                    ..cut
                }
            }
            Way::Columns => {
                let (first, inner) = (strip.start, strip.len());
                let half = |layer: usize| match layer % 2 {
                    0 => Part { layer, first, rows: width, columns: inner },
                    _ => Part {
                        layer,
                        first: first * width,
                        rows: inner,
                        columns: width,
                    },
                };
                Cut {
                    parts: parts(&half),
                    inner,
                    inbox: others(rows * width),
                    ..cut
                }
            }
            Way::Layers => Cut {
                layers: mine(layers),
                parts: mine(layers).map(whole).collect(),
                ..cut
            },
        }
    }

    /// All that it keeps of the weights.
    pub(crate) fn words(&self) -> usize {
        self.parts.iter().map(Part::words).sum()
    }

    /// The layers whose input it has; what comes out of the last counts as one more.
    pub(crate) fn activations(&self) -> Range<usize> {
        match self.layers.is_empty() {
            true => 0..0,
            false => self.layers.start..self.layers.end + 1,
        }
    }

    /// Columns of what goes into a layer, on this GPU.
    pub(crate) fn width(&self, layer: usize) -> usize {
        if layer.is_multiple_of(2) { self.shape.width } else { self.inner }
    }
}

// ANCHOR: formulas
impl Way {
    /// What all GPUs together send in a step, and how often one of them waits for others.
    pub(crate) fn sends(self, shape: Shape, gpus: usize, micro: usize) -> Sent {
        let Shape { rows, width, layers } = shape;
        let (weights, activation) = (layers * width * width, rows * width);
        let others = gpus - 1;
        let all_to_all = gpus * others; // messages, if each sends to each
        let (words, messages, waits) = match self {
            _ if others == 0 => (0, 0, 0),
            Way::Data => (2 * others * weights, 2 * all_to_all, 2 * gpus),
            Way::State => {
                (3 * others * weights, 3 * layers * all_to_all, 5 * layers * gpus)
            }
            Way::Columns => (
                2 * layers * others * activation,
                2 * layers * all_to_all,
                2 * layers * gpus,
            ),
            Way::Layers => {
                (2 * others * activation, 2 * others * micro, 2 * others * micro)
            }
        };
        Sent { bytes: words * size_of::<u32>(), messages, waits }
    }

    /// Bytes that all GPUs together keep of weights, of gradients, and of activations.
    pub(crate) fn holds(self, shape: Shape, gpus: usize) -> [usize; 3] {
        let Shape { rows, width, layers } = shape;
        let (weights, activation) = (layers * width * width, rows * width);
        let copies = if self == Way::Data { gpus } else { 1 };
        let activations = match self {
            Way::Data | Way::State => layers + 1,
            Way::Columns => layers / 2 + (layers / 2 + 1) * gpus,
            Way::Layers => layers + gpus,
        };
        [copies * weights, copies * weights, activations * activation]
            .map(|words| words * size_of::<u32>())
    }
}
// ANCHOR_END: formulas
