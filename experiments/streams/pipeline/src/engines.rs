//! A stream for each step, so for each engine, with events between them.

use lab::Result;

use crate::{Pipeline, Plan};

impl Pipeline<'_> {
    /// Each step in a stream of its own. Events say when it is done with a pair.
    pub(crate) fn queue_by_engine(&mut self, plan: &Plan) -> Result<()> {
        let Pipeline { hosts, pairs, kernels } = self;
        let host = &mut hosts[plan.host];
        let [up, work, down] = &[0, 1, 2].map(|step| pairs[step].stream.clone());
        for batch in 0..plan.batches {
            let pair = &mut pairs[batch % plan.pairs];
            up.wait(&pair.computed)?; // the kernel has read the batch before
            pair.queue(kernels, up, (0, batch), host, plan)?;
            pair.arrived.record(up)?;

            work.wait(&pair.arrived)?;
            work.wait(&pair.gone)?; // and its result has been sent
            pair.queue(kernels, work, (1, batch), host, plan)?;
            pair.computed.record(work)?;

            down.wait(&pair.computed)?;
            pair.queue(kernels, down, (2, batch), host, plan)?;
            pair.gone.record(down)?;
        }
        Ok(())
    }
}
