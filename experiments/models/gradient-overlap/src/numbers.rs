//! What is in the matrices, and what the gradients must be.
//!
//! A layer's input is a column times a row, and so is the gradient that reaches its output. So
//! the gradient of its weights is a column times a row, too, and each element is known without
//! a product of matrices. All numbers are whole, and small enough that a float holds every sum
//! exactly, in whatever order it is computed.

use std::ops::Range;

use lab::check::value;

/// Layers of `width` × `width` weights, and the most rows of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) width: usize,
    pub(crate) rows: usize,
}

impl Shape {
    /// Elements of a layer's weights, and of their gradient.
    pub(crate) fn layer(&self) -> usize {
        self.width * self.width
    }

    /// Where the weights of these layers lie, and their gradients.
    pub(crate) fn of(&self, layers: &Range<usize>) -> Range<usize> {
        layers.start * self.layer()..layers.end * self.layer()
    }

    /// What went into a layer on one GPU: 1, 2 and 4, so that an activation function, a ReLU,
    /// has let everything through.
    pub(crate) fn input(&self, gpu: usize, layer: usize) -> Vec<f32> {
        let across = self.across(gpu, layer);
        outer(&self.down(0), &across)
    }

    /// The gradient that reaches the last layer's output.
    pub(crate) fn top(&self) -> Vec<f32> {
        outer(&self.down(1), &self.backward(self.layers - 1))
    }

    /// A layer's weights: what turns the row that reaches its output into the row for the
    /// layer before. Its last column makes up for the others.
    pub(crate) fn weights(&self, layer: usize) -> Vec<f32> {
        let (width, row) = (self.width, self.backward(layer));
        let before = self.backward(layer - 1);
        let mut weights = vec![0.0; self.layer()];
        for (k, weights) in weights.chunks_exact_mut(width).enumerate() {
            let (last, others) =
                weights.split_last_mut().expect("a layer has a width");
            *last = before[k];
            for (j, weight) in others.iter_mut().enumerate() {
                *weight = small(3, (layer * width + k) * width + j);
                *last -= *weight * row[j];
            }
        }
        weights
    }

    /// All gradients, one layer behind the other, after a step with `rows` rows: the sum of
    /// those of these GPUs.
    pub(crate) fn gradients(&self, gpus: Range<usize>, rows: usize) -> Vec<f32> {
        let (one, other) = (self.down(0), self.down(1));
        let factor: f32 = (0..rows).map(|i| one[i] * other[i]).sum();
        let of_layer = |layer| {
            let mut column = vec![0.0; self.width];
            for gpu in gpus.clone() {
                let across = self.across(gpu, layer);
                column
                    .iter_mut()
                    .zip(across)
                    .for_each(|(sum, x)| *sum += x * factor);
            }
            outer(&column, &self.backward(layer))
        };
        (0..self.layers).flat_map(of_layer).collect()
    }

    /// 1 or 2 for each row of a batch.
    fn down(&self, which: usize) -> Vec<f32> {
        (0..self.rows).map(|i| one_or_two(which, i)).collect()
    }

    /// 1 or 2 for each of a layer's inputs.
    fn across(&self, gpu: usize, layer: usize) -> Vec<f32> {
        let first = (gpu * self.layers + layer) * self.width;
        (first..first + self.width).map(|i| one_or_two(2, i)).collect()
    }

    /// -1 to 2 for each of a layer's outputs; the last is 1.
    fn backward(&self, layer: usize) -> Vec<f32> {
        let first = layer * self.width;
        let mut row: Vec<_> =
            (first..first + self.width).map(|i| small(2, i)).collect();
        *row.last_mut().expect("a layer has a width") = 1.0;
        row
    }
}

fn small(which: usize, i: usize) -> f32 {
    (value(4 * i + which) >> 30) as f32 - 1.0
}

fn one_or_two(which: usize, i: usize) -> f32 {
    (value(4 * i + which) >> 31) as f32 + 1.0
}

/// A column times a row.
fn outer(column: &[f32], row: &[f32]) -> Vec<f32> {
    column.iter().flat_map(|x| row.iter().map(move |y| x * y)).collect()
}

#[cfg(test)]
mod tests {
    use super::Shape;

    /// Multiplies the matrices, as the GPUs do.
    #[test]
    fn gradients_are_those_of_a_backward_pass() {
        let shape = Shape { layers: 4, width: 7, rows: 5 };
        let Shape { layers, width, rows } = shape;
        let mut gradients = vec![0.0; layers * shape.layer()];
        for gpu in 0..2 {
            let mut dz = shape.top();
            for layer in (0..layers).rev() {
                let x = shape.input(gpu, layer);
                let gradient = &mut gradients[shape.of(&(layer..layer + 1))];
                for (at, sum) in gradient.iter_mut().enumerate() {
                    let (k, j) = (at / width, at % width);
                    let terms =
                        (0..rows).map(|i| x[i * width + k] * dz[i * width + j]);
                    *sum += terms.sum::<f32>();
                }
                if layer > 0 {
                    let w = shape.weights(layer);
                    let term = |at: usize, j: usize| {
                        dz[at / width * width + j] * w[at % width * width + j]
                    };
                    let before = (0..rows * width)
                        .map(|at| (0..width).map(|j| term(at, j)).sum());
                    dz = before.collect();
                }
            }
        }
        assert_eq!(shape.gradients(0..2, rows), gradients);
    }
}
