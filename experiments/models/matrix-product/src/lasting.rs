//! How fast is a product in tensor cores in a burst, and how fast when it goes on?
//!
//! Random numbers switch most of a circuit's wires. So the power limit is met, though not at
//! once; and the clock is counted where it counts, on a multiprocessor, right after the products.

use std::sync::Arc;

use cudarc::driver::{CudaStream, DeviceRepr, ValidAsZeroBits};
use lab::launch::blocks;
use lab::{Case, Lab, Result, Samples};

use crate::Kernels;
use crate::data::{random, rows};
use crate::eight::Operands;
use crate::matrix::{Element, Multiplier, Product};

/// What times products of matrices of one size.
pub(crate) struct Bench<'a> {
    pub(crate) lab: &'a mut Lab,
    pub(crate) stream: &'a Arc<CudaStream>,
    pub(crate) kernels: &'a Kernels,
    pub(crate) side: usize,
}

impl Bench<'_> {
    /// On random numbers.
    pub(crate) fn random<T>(&mut self, ways: &[Multiplier<T>]) -> Result<()>
    where
        T: Element + DeviceRepr + ValidAsZeroBits,
    {
        let [a, b] = matrices(self.side, T::nearest);
        ways.iter().try_for_each(|way| self.multiply(way, "random", &a, &b))
    }

    /// On small whole numbers, as in all other cases.
    pub(crate) fn whole<T>(&mut self, ways: &[Multiplier<T>]) -> Result<()>
    where
        T: Element + DeviceRepr + ValidAsZeroBits,
    {
        let product = Product::new(self.side);
        let (a, b) = (product.left::<T>(), product.right::<T>());
        ways.iter().try_for_each(|way| self.multiply(way, "whole", &a, &b))
    }

    /// FP8, on random whole numbers: it has all from -16 to 16.
    pub(crate) fn eight_bits(&mut self) -> Result<()> {
        let (n, stream) = (self.side, self.stream.clone());
        let [a, b] = matrices(n, |number| u8::nearest((16.0 * number).round()));
        let by_columns: Vec<u8> =
            (0..n * n).map(|at| b[at % n * n + at / n]).collect();
        let mut operands = Operands::new(&stream, n, &a, &by_columns)?;
        let found = self.time(&mut |_| operands.multiply())?;
        let got = stream.clone_dtoh(&operands.c.slice(..n * n))?;
        self.record("cublas", u8::NAME, "random", found, rows(&a, &b, &got, n)?)
    }

    fn multiply<T>(
        &mut self,
        way: &Multiplier<T>,
        numbers: &str,
        a: &[T],
        b: &[T],
    ) -> Result<()>
    where
        T: Element + DeviceRepr + ValidAsZeroBits,
    {
        let (n, stream) = (self.side, self.stream.clone());
        let (left, right) = (stream.clone_htod(a)?, stream.clone_htod(b)?);
        let mut c = stream.alloc_zeros(n * n)?;
        let found = self.time(&mut |_| (way.multiply)(&left, &right, &mut c, n))?;
        let got = stream.clone_dtoh(&c)?;
        self.record(way.name, T::NAME, numbers, found, rows(a, b, &got, n)?)
    }

    /// Samples of bursts, and of products that have gone on for a while; and the clock.
    fn time(
        &self,
        multiply: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<[(Samples, f64); 2]> {
        let Bench { lab, stream, kernels, .. } = self;
        lab.time_in_bursts_and_lasting(stream, multiply, &mut |out, nanoseconds| {
            kernels.read_clocks(stream, blocks(1, 1), out, nanoseconds)
        })
    }

    fn record(
        &mut self,
        way: &str,
        element: &str,
        numbers: &str,
        found: [(Samples, f64); 2],
        checked: u64,
    ) -> Result<()> {
        let n = self.side;
        for (regime, (samples, khz)) in ["burst", "lasting"].into_iter().zip(found) {
            Case::new(regime)
                .with("way", way)
                .with("element", element)
                .with("numbers", numbers)
                .with("side", n)
                .computes(2 * n * n * n)
                .model("clock_khz", khz)
                .timed(samples, ())
                .checked(checked)
                .record(self.lab)?;
        }
        Ok(())
    }
}

/// Two matrices of random numbers, `of` making an element of one from -1 to 1.
pub(crate) fn matrices<T>(n: usize, of: impl Fn(f32) -> T) -> [Vec<T>; 2] {
    [0, n * n].map(|first| (first..first + n * n).map(|i| of(random(i))).collect())
}
