//! What to do about what was found: what a sentence on it ends with, or nothing.

use std::collections::BTreeMap;

use emulator::{Fault, FaultKind};
use record::units;

use crate::check::{Buffer, Expression};
use crate::data::Shape;
use crate::launch::Form;
use crate::plan::written;

/// Of a fault.
pub(crate) fn of_fault(fault: &Fault, buffers: &BTreeMap<String, Buffer>, form: &Form) -> String {
    if fault.what.contains("asked for no dynamic shared memory") {
        return ". An `extern` array gets its bytes by --shared, such as --shared 1024".to_owned();
    }
    let named = |(name, _): &(&String, &Buffer)| fault.what.contains(&format!(" {name}["));
    let Some((name, buffer)) = buffers.iter().find(named) else { return String::new() };
    match fault.kind {
        FaultKind::Uninitialised if buffer.fill.is_none() => format!(
            ". `{name}` was given without a fill: if your program writes it before this kernel, \
             say so with --arg {}:ramp, or :zero for what it adds to",
            written(name, buffer)
        ),
        FaultKind::OutOfBounds => to_spare(fault, name, buffer, form).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Of a thread that accesses the element of its own number, which there is not.
fn to_spare(fault: &Fault, name: &str, buffer: &Buffer, form: &Form) -> Option<String> {
    let ([x, 0, 0], [thread, 0, 0]) = (fault.block?, fault.thread?) else { return None };
    let [size] = &buffer.size[..] else { return None };
    let own = u64::from(x) * u64::from(form.block[0]) + u64::from(thread);
    fault.what.contains(&format!(" {name}[{own}]:")).then(|| {
        format!(
            ". There are {} threads: let those to spare do nothing, as with `if (i < {size})`",
            units::count(form.threads())
        )
    })
}

/// Of a grid with too few threads: which of its numbers of blocks is no whole one.
pub(crate) fn rounded_down(grid: &[Expression], shape: &Shape) -> String {
    let is_whole = |blocks: &&Expression| {
        let value = blocks.value(|name| Some(*shape.get(name)? as f64));
        value.is_ok_and(|value| value.fract() == 0.0)
    };
    match grid.iter().find(|blocks| !is_whole(blocks)) {
        Some(blocks) => format!(". `{blocks}` rounds down: take `ceil({blocks})` blocks"),
        None => String::new(),
    }
}
