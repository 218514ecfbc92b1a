//! A stream for each step, so for each engine, with events between them.

use lab::Result;

use crate::{Pipeline, Plan, Step};

impl Pipeline<'_> {
    /// Each step in a stream of its own. Events say when it is done with a pair.
    pub(crate) fn queue_by_engine(&mut self, plan: &Plan) -> Result<()> {
        let Pipeline { hosts, pairs, kernels } = self;
        let host = &mut hosts[plan.host as usize];
        let [up, work, down] =
            &Step::ALL.map(|step| pairs[step as usize].stream.clone());
        for batch in 0..plan.batches {
            let pair = &mut pairs[batch % plan.pairs];
            up.wait(&pair.computed)?; // the kernel has read the batch before
            pair.queue(kernels, up, (Step::Upload, batch), host, plan)?;
            pair.arrived.record(up)?;

            work.wait(&pair.arrived)?;
            work.wait(&pair.gone)?; // and its result has been sent
            pair.queue(kernels, work, (Step::Kernel, batch), host, plan)?;
            pair.computed.record(work)?;

            down.wait(&pair.computed)?;
            pair.queue(kernels, down, (Step::Download, batch), host, plan)?;
            pair.gone.record(down)?;
        }
        Ok(())
    }
}
