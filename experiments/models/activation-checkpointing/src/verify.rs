//! Gradients computed on the host, in the same order of additions, so with the same bits.

use lab::{Lab, Result, check};

use crate::net::{Net, input, weights};

/// Sizes that no tile divides.
const SAMPLES: usize = 21;
const WIDTHS: [usize; 6] = [19, 33, 7, 40, 16, 23];

/// Compares a step's gradients for several choices of what is kept.
pub(crate) fn check(lab: &Lab) -> Result<()> {
    let mut net = Net::new(lab, SAMPLES, WIDTHS.to_vec())?;
    let right = gradients();
    for starts in [&[0][..], &[0, 1, 2, 3, 4], &[0, 2, 4], &[0, 3], &[0, 4]] {
        net.step(starts)?;
        let what = format!("gradients, kept what goes into layers {starts:?}");
        check::every_element(&what, &net.gradients()?, |i| right[i])?;
    }
    Ok(())
}

fn gradients() -> Vec<f32> {
    let sides = |layer: usize| (WIDTHS[layer], WIDTHS[layer + 1]);
    let layers = WIDTHS.len() - 1;
    let mut activations = vec![input(SAMPLES * WIDTHS[0])];
    for layer in 0..layers {
        let (inputs, outputs) = sides(layer);
        let (x, w) = (&activations[layer], weights(layer, inputs, outputs));
        let y = product(SAMPLES, outputs, inputs, |row, column, k| {
            (x[row * inputs + k], w[k * outputs + column])
        });
        activations.push(y.into_iter().map(|y| y.max(0.0)).collect());
    }
    let mut dz = activations[layers].clone();
    let mut gradients = vec![];
    for layer in (0..layers).rev() {
        let (inputs, outputs) = sides(layer);
        let (x, w) = (&activations[layer], weights(layer, inputs, outputs));
        gradients.push(product(inputs, outputs, SAMPLES, |row, column, k| {
            (x[k * inputs + row], dz[k * outputs + column])
        }));
        let before = product(SAMPLES, inputs, outputs, |row, column, k| {
            (dz[row * outputs + k], w[column * outputs + k])
        });
        dz = x
            .iter()
            .zip(before)
            .map(|(x, d)| if *x > 0.0 { d } else { 0.0 })
            .collect();
    }
    gradients.into_iter().rev().flatten().collect()
}

/// Row after row; `factors(row, column, k)` are those of the k-th product of a sum.
fn product(
    rows: usize,
    columns: usize,
    inner: usize,
    factors: impl Fn(usize, usize, usize) -> (f32, f32),
) -> Vec<f32> {
    let element = |row, column| {
        (0..inner).fold(0.0f32, |sum, k| {
            let (a, b) = factors(row, column, k);
            a.mul_add(b, sum)
        })
    };
    (0..rows)
        .flat_map(|row| (0..columns).map(move |column| (row, column)))
        .map(|(row, column)| element(row, column))
        .collect()
}
