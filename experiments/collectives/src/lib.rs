//! What programs that reduce over several GPUs share: NCCL, found and explained, and the
//! measure by which collectives are compared.

pub mod nccl;

/// NCCL's *bus bandwidth* of an all-reduce is its bytes times this over its time. A ring of
/// `gpus` sends so many times the message's bytes over each link, one way, and no algorithm
/// without help from the switch can do with less. So whatever the number of GPUs, bus
/// bandwidth can be held against what one link carries one way.
pub fn bus_bandwidth_factor(gpus: usize) -> f64 {
    2.0 * (gpus - 1) as f64 / gpus as f64
}

#[cfg(test)]
mod tests {
    use super::bus_bandwidth_factor;

    #[test]
    fn two_gpus_send_everything_once_and_many_almost_twice() {
        assert_eq!(bus_bandwidth_factor(2), 1.0);
        assert_eq!(bus_bandwidth_factor(4), 1.5);
        assert_eq!(bus_bandwidth_factor(8), 1.75);
    }
}
