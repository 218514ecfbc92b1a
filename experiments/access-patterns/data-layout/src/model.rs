//! The model: where a field is, how many sectors a warp touches with one of its
//! accesses, and how many bytes have to move.

use std::collections::BTreeSet;

use lab::{Case, Ceiling, Lab};

pub(crate) const MOST_FIELDS: u32 = 16;
const SECTOR_BYTES: usize = 32;
pub(crate) const WORD_BYTES: usize = 4;
const LINE_BYTES: usize = 128;

lab::words! {
    /// What a kernel does with the used fields.
    pub(crate) enum Access { Read = "read", Write = "write" }
}

/// `count` elements of several `fields`, of which the first few are `used`, in tiles of
/// 2^`shift` elements. The `suffix` names a variant of the kernel.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    pub(crate) count: u32,
    pub(crate) shift: u32,
    pub(crate) fields: u32,
    pub(crate) used: u32,
    pub(crate) suffix: &'static str,
}

impl Layout {
    /// The name of the kernel that reads or writes the used fields.
    pub(crate) fn kernel(&self, access: Access) -> String {
        format!("{}{}{}", access.name(), self.used, self.suffix)
    }

    // ANCHOR: model
    /// Where field `f` of element `i` is, in words, as in the kernel.
    pub(crate) fn place(&self, i: u32, f: u32) -> usize {
        let (tile, rest) = (i >> self.shift, i & ((1 << self.shift) - 1));
        (((tile * self.fields + f) as usize) << self.shift) + rest as usize
    }

    /// Granules (sectors, say) that these elements touch with these fields.
    fn granules(&self, elements: u32, fields: u32, granule_bytes: usize) -> usize {
        let granule = |i, f| self.place(i, f) * WORD_BYTES / granule_bytes;
        let of_element = |i| (0..fields).map(move |f| granule(i, f));
        (0..elements).flat_map(of_element).collect::<BTreeSet<_>>().len()
    }

    /// Bytes that the used fields occupy if memory comes in granules, counted over the
    /// first few thousand elements.
    fn bytes_in_granules(&self, granule_bytes: usize) -> usize {
        let some = self.count.min(1 << 12);
        let touched = self.granules(some, self.used, granule_bytes);
        touched * granule_bytes * (self.count / some) as usize
    }
    // ANCHOR_END: model

    /// Adds to a case what is asked for, and what the model says. Sectors that are
    /// written in part have to be read first.
    pub(crate) fn describe(&self, case: Case, access: Access, lab: &Lab) -> Case {
        let field_bytes = self.count as usize * WORD_BYTES;
        let used_bytes = field_bytes * self.used as usize;
        let loaded = self.bytes_in_granules(lab.l2_fetch_bytes());
        let stored = self.bytes_in_granules(SECTOR_BYTES);
        let read_first = if stored == used_bytes { 0 } else { stored };
        let (asked, moved) = match access {
            Access::Read => ((used_bytes, field_bytes), (loaded, field_bytes)),
            Access::Write => ((0, used_bytes), (read_first, stored)),
        };
        // The 32 threads of a warp use one field of theirs.
        let per_request = |granule_bytes| self.granules(32, 1, granule_bytes) as f64;
        let case = case
            .with("fields", self.fields as usize)
            .with("used", self.used as usize)
            .reads(asked.0)
            .writes(asked.1)
            .ceiling(Ceiling::DeviceMemory)
            .footprint(moved.0 + moved.1, lab.l2_bytes())
            .model("sectors_per_request", per_request(SECTOR_BYTES))
            .model("lines_per_request", per_request(LINE_BYTES))
            .model("dram_read_bytes", moved.0 as f64)
            .model("dram_write_bytes", moved.1 as f64);
        let Some(peak) = lab.memory_peak() else { return case };
        let share = (asked.0 + asked.1) as f64 / (moved.0 + moved.1) as f64;
        case.model("bound_bytes_per_second", peak * share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(shift: u32, used: u32) -> Layout {
        Layout { count: 1 << 12, shift, fields: 8, used, suffix: "" }
    }

    #[test]
    fn every_field_has_a_place_of_its_own() {
        for shift in 0..=12 {
            let layout = layout(shift, 8);
            let all = (0..1 << 12).flat_map(|i| (0..8).map(move |f| (i, f)));
            let places: BTreeSet<_> = all.map(|(i, f)| layout.place(i, f)).collect();
            assert_eq!(places, (0..8 << 12).collect());
        }
    }

    #[test]
    fn what_is_used_of_a_sector_moves_with_all_of_it() {
        // Structures, tiles of 4 and of 8, and arrays.
        let shifts = [0, 2, 3, 12];
        let bytes =
            |used| shifts.map(|s| layout(s, used).bytes_in_granules(32) >> 12);
        assert_eq!(bytes(1), [32, 8, 4, 4]);
        assert_eq!(bytes(2), [32, 8, 8, 8]);
        assert_eq!(bytes(8), [32; 4]);
        let sectors = shifts.map(|shift| layout(shift, 1).granules(32, 1, 32));
        assert_eq!(sectors, [32, 8, 4, 4]);
    }
}
