//! Is it the bytes that the L2 cache fetches? The same loads at other *fetch
//! granularities*: how many bytes the cache asks the memory for when it misses. A program
//! may hint at that.

use cudarc::driver::sys::CUlimit;
use lab::{Case, Lab, Result};

use crate::STRIDES;
use crate::device::Arrays;
use crate::model::{Kind, Shape};

const LIMIT: CUlimit = CUlimit::CU_LIMIT_MAX_L2_FETCH_GRANULARITY;
const FETCHES: [usize; 3] = [32, 64, 128];

/// Asks for a granularity, where the driver lets a program choose.
pub(crate) fn hint(lab: &Lab, fetch_bytes: usize) -> Result<()> {
    if lab.context().get_limit(LIMIT).is_ok() {
        lab.context().set_limit(LIMIT, fetch_bytes)?;
    }
    Ok(())
}

pub(crate) fn cases(lab: &mut Lab, arrays: &Arrays) -> Vec<(Case, Shape)> {
    let can_choose = lab.context().get_limit(LIMIT).is_ok();
    let mut cases = vec![];
    for fetch_bytes in FETCHES {
        let case = Case::new("fetch").with("fetch_bytes", fetch_bytes);
        if !can_choose {
            lab.skip(case, "this driver does not let a program choose");
            continue;
        }
        for stride in STRIDES.into_iter().filter(|stride| *stride >= 4) {
            let case = case.clone().with("stride", stride);
            cases.push((
                case,
                Shape { stride, fetch_bytes, ..arrays.plain(Kind::Gather, 4) },
            ));
        }
    }
    cases
}
