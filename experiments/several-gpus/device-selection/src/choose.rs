//! Choosing: which GPU to take.

use std::cmp::Reverse;

use crate::look::Facts;

// ANCHOR: choose
/// The GPU for work that needs `bytes` of memory, if one has it: the least busy, to ten
/// percent; among equals the one with more multiprocessors, then with the faster link,
/// then with more free memory.
pub(crate) fn choose(gpus: &[Facts], bytes: u64) -> Option<usize> {
    let fit = (0..gpus.len()).filter(|i| gpus[*i].free_bytes >= bytes);
    fit.min_by_key(|i| {
        let gpu = &gpus[*i];
        let strength = (gpu.multiprocessors, gpu.link, gpu.free_bytes);
        (gpu.busy_percent.unwrap_or(0) / 10, Reverse(strength))
    })
}
// ANCHOR_END: choose

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::look::Facts;

    const FREE: Facts = Facts {
        free_bytes: 100,
        multiprocessors: 132,
        link: Some(512),
        busy_percent: Some(0),
    };

    #[test]
    fn memory_comes_first_then_load_then_strength() {
        let busy = Facts { busy_percent: Some(50), ..FREE };
        let noise = Facts { busy_percent: Some(3), ..FREE };
        let full = Facts { free_bytes: 10, ..FREE };
        let small = Facts { multiprocessors: 40, ..FREE };
        for (gpus, chosen) in [
            (&[busy, FREE][..], Some(1)),
            (&[full, busy], Some(1)),
            (&[small, noise], Some(1)),
            (&[small, busy], Some(0)),
            (&[FREE, FREE], Some(0)),
            (&[full], None),
            (&[], None),
        ] {
            assert_eq!(choose(gpus, 50), chosen, "{gpus:?}");
        }
    }
}
