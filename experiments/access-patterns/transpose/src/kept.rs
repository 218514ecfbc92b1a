//! An eviction hint: `downwards`, which asks the L2 cache to keep what it reads.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::{Case, Lab, Result};

use crate::kernels::DOWNWARDS;
use crate::matrix::{Shape, Way};

// SAFETY: the kernel stays within its matrices, whose shape it is told.
lab::kernels! { unsafe "transpose-kept" {
    fn downwards_kept(
        input: &CudaSlice<u32>, output: &mut CudaSlice<u32>, width: u32, height: u32,
    );
} }

pub(crate) fn way(lab: &mut Lab, stream: &Arc<CudaStream>) -> Result<Option<Way>> {
    let case = "downwards_kept";
    let Some(module) = lab.load(KERNEL)? else {
        lab.skip(Case::new(case), "this GPU does not support eviction hints");
        return Ok(None);
    };
    let (kernels, stream) = (Kernels::of(&module)?, stream.clone());
    let transpose = move |shape: &Shape, input: &_, output: &mut _| {
        let (width, height) = (shape.width as u32, shape.height as u32);
        let config = DOWNWARDS.config(shape);
        kernels.downwards_kept(&stream, config, input, output, width, height)
    };
    Ok(Some(Way { name: case, aligned: true, transpose: Box::new(transpose) }))
}
