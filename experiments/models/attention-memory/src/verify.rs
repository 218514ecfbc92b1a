//! What has to come out: the definition, in double precision, on the host; and, where that
//! takes too long, what another way makes of the same inputs.

use anyhow::ensure;
use cudarc::driver::CudaSlice;
use lab::Result;
use lab::launch::threads;

use crate::attention::{Attention, BOUND};
use crate::shape::{Method, Shape};

/// Runs one way, and compares every element with the definition.
pub(crate) fn compare(
    attention: &Attention,
    shape: &Shape,
    method: Method,
) -> Result<()> {
    let stream = &attention.stream;
    let inputs = attention.inputs(shape)?;
    let mut scores = attention.scores(shape, method)?;
    let mut out = stream.alloc_zeros(shape.elements())?;
    attention.run(shape, method, &inputs, &mut scores, &mut out)?;

    let got = stream.clone_dtoh(&out)?;
    let [q, k, v] = inputs.map(|input| stream.clone_dtoh(&input));
    let (q, k, v) = (q?, k?, v?);
    let part = shape.tokens * shape.head;
    for first in (0..shape.elements()).step_by(part) {
        let head = first..first + part;
        let [q, k, v] = [&q, &k, &v].map(|input| &input[head.clone()]);
        for (token, got) in got[head.clone()].chunks(shape.head).enumerate() {
            let keys = if shape.causal { token + 1 } else { shape.tokens };
            let query = &q[token * shape.head..][..shape.head];
            let expected = row(shape, query, &k[..keys * shape.head], v);
            let bound = f64::from(BOUND) / (keys as f64).sqrt();
            for (got, expected) in got.iter().zip(expected) {
                ensure!(
                    (f64::from(*got) - expected).abs() <= bound,
                    "{}, {} tokens: token {token} is {got} and should be {expected}. \
                     Nothing was recorded",
                    method.name(),
                    shape.tokens,
                );
            }
        }
    }
    Ok(())
}

/// One token's output, of the keys that it sees.
fn row(shape: &Shape, query: &[f32], keys: &[f32], values: &[f32]) -> Vec<f64> {
    let dot = |key: &[f32]| -> f64 {
        key.iter().zip(query).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let scale = f64::from(shape.scale());
    let scores: Vec<f64> =
        keys.chunks(shape.head).map(|key| scale * dot(key)).collect();
    let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> =
        scores.iter().map(|score| (score - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mut out = vec![0.0; shape.head];
    for (weight, value) in weights.iter().zip(values.chunks(shape.head)) {
        for (out, value) in out.iter_mut().zip(value) {
            *out += weight / sum * f64::from(*value);
        }
    }
    out
}

impl Attention {
    /// Compares every element of two results, on the GPU; `bound` is relative to
    /// 1 / √(keys that the row sees). Returns how many elements were compared.
    pub(crate) fn compare(
        &self,
        shape: &Shape,
        got: &CudaSlice<f32>,
        expected: &CudaSlice<f32>,
        bound: f32,
    ) -> Result<u64> {
        let Shape { tokens, head, causal, .. } = *shape;
        let (n, head, count) = (tokens as u32, head as u32, shape.elements());
        let mut wrong = self.stream.alloc_zeros(1)?;
        self.kernels.differ(
            &self.stream,
            threads(count),
            got,
            expected,
            count,
            n,
            head,
            causal.into(),
            bound,
            &mut wrong,
        )?;
        let wrong = self.stream.clone_dtoh(&wrong)?[0];
        ensure!(
            wrong == 0,
            "{wrong} of {count} elements of two methods differ, at {tokens} tokens. Nothing was \
             recorded"
        );
        Ok(count as u64)
    }
}
