//! What every rank does, rank 0 as well as the others.

use std::ffi::c_char;
use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use cudarc::driver::{CudaSlice, CudaStream};
use cudarc::nccl::{Comm, Id, ReduceOp};
use lab::nccl;
use lab::{Result, check};
use serde::{Deserialize, Serialize};

// ANCHOR: order
/// What all ranks do at the same time.
#[derive(Serialize, Deserialize)]
pub(crate) enum Order {
    Connect { id: Vec<c_char> },
    Prepare { elements: usize },
    AllReduce,
    Calls { count: usize },
    Clear,
    Check,
}
// ANCHOR_END: order

/// One process's GPU, and what is on it.
pub(crate) struct Rank {
    rank: usize,
    ranks: usize,
    stream: Arc<CudaStream>,
    communicator: Option<Comm>,
    buffers: Option<(CudaSlice<f32>, CudaSlice<f32>)>,
}

impl Rank {
    pub(crate) fn new(rank: usize, ranks: usize, stream: Arc<CudaStream>) -> Rank {
        Rank { rank, ranks, stream, communicator: None, buffers: None }
    }

    fn all_reduce(&mut self) -> Result<()> {
        let communicator = self.communicator.as_ref().context("not connected")?;
        let (input, output) = self.buffers.as_mut().context("not prepared")?;
        let queued = communicator.all_reduce(input, output, &ReduceOp::Sum);
        nccl::check("queue an all-reduce", queued).map(drop)
    }

    // ANCHOR: obey
    /// Does its part. Returns how many elements were checked, or the time of calls
    /// in nanoseconds.
    pub(crate) fn obey(&mut self, order: &Order) -> Result<u64> {
        let Rank { rank, ranks, stream, .. } = self;
        match order {
            Order::Connect { id } => {
                let id = id[..].try_into().context("an id of another size")?;
                let (stream, id) = (stream.clone(), Id::uninit(id));
                let joined = Comm::from_rank(stream, *rank, *ranks, id);
                let joined = nccl::check("join the other ranks", joined)?;
                self.communicator = Some(joined);
            }
            Order::Prepare { elements } => {
                self.buffers = None; // frees the last ones first
                let input = (0..*elements).map(|i| value(*rank, i));
                let input = stream.clone_htod(&input.collect::<Vec<_>>())?;
                self.buffers = Some((input, stream.alloc_zeros(*elements)?));
                stream.synchronize()?;
            }
            Order::AllReduce => self.all_reduce()?,
            // ANCHOR: calls
            Order::Calls { count } => {
                let stream = stream.clone();
                self.all_reduce()?; // untimed: then all ranks start together
                stream.synchronize()?;
                let start = Instant::now();
                for _ in 0..*count {
                    self.all_reduce()?;
                    stream.synchronize()?;
                }
                return Ok(start.elapsed().as_nanos() as u64);
            }
            // ANCHOR_END: calls
            Order::Clear => {
                let (_, output) = self.buffers.as_mut().context("not prepared")?;
                stream.memset_zeros(output)?;
                stream.synchronize()?;
            }
            Order::Check => {
                let (_, output) = self.buffers.as_ref().context("not prepared")?;
                let got = stream.clone_dtoh(output)?;
                let sum = |i| (0..*ranks).map(|rank| value(rank, i)).sum();
                let what = format!("sum on rank {rank}");
                return check::every_element(&what, &got, sum);
            }
        }
        Ok(0)
    }
    // ANCHOR_END: obey
}

/// Element `i` of a rank's input: a whole number below 4096, so that sums over up to
/// 4096 ranks are exact in any order.
fn value(rank: usize, i: usize) -> f32 {
    (check::value(i + 7919 * rank) >> 20) as f32
}
