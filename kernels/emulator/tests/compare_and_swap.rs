//! A loop around a compare-and-swap is right whatever a plain read before it finds.

use emulator::{Arguments, FaultKind, NoteKind};

use crate::common::Device;

/// Runs a kernel on two blocks of 64: the kinds of notes, or of the fault.
fn notes(
    device: &mut Device,
    kernel: &str,
    arguments: &Arguments,
) -> Result<Vec<NoteKind>, FaultKind> {
    let ran = device.run(kernel, [2, 1, 1], [64, 1, 1], arguments);
    ran.map(|counts| counts.notes.iter().map(|note| note.kind).collect()).map_err(|f| f.kind)
}

#[test]
fn what_it_expects_may_be_old() {
    let mut device = Device::tests("compare-and-swap");
    let doubles = (0..128).flat_map(|value| {
        let bits = f64::from(value).to_bits();
        [bits as u32, (bits >> 32) as u32]
    });
    let (input, total) = (device.words("in", doubles), device.words("total", [0; 2].into_iter()));
    let noted = Ok(vec![NoteKind::PlainRead]);
    assert_eq!(notes(&mut device, "sum", &arguments![u64 input, u64 total]), noted);
    let bits = (8128f64.to_bits() >> 32) as u32;
    assert_eq!(device.read(total, 2), [0, bits]);

    let floats = (0..128).map(|value: u32| (value as f32 + 0.5).to_bits());
    let (input, most) = (device.words("in", floats), device.words("most", [0].into_iter()));
    assert_eq!(notes(&mut device, "maximum", &arguments![u64 input, u64 most]), noted);
    assert_eq!(device.read(most, 1), [127.5f32.to_bits()]);

    let counts = device.words("counts", [0].into_iter());
    assert_eq!(notes(&mut device, "halves", &arguments![u64 counts]), noted);
    assert_eq!(device.read(counts, 1), [64 << 16 | 64]);

    let out = device.fresh("out", 128);
    assert_eq!(notes(&mut device, "tickets", &arguments![u64 out]), noted);
    assert!(device.read(out, 128).into_iter().eq((0..128).map(|ticket| ticket / 64)));
}

#[test]
fn what_else_is_made_of_the_read_may_not() {
    for kernel in ["ticket_wrong", "sum_wrong", "seen_wrong", "store_wrong"] {
        let mut device = Device::tests("compare-and-swap");
        let (total, out) = (device.words("total", 0..1), device.words("out", 0..4096));
        let arguments = match kernel {
            "store_wrong" => arguments![u64 total],
            _ => arguments![u64 total, u64 out],
        };
        let found = notes(&mut device, kernel, &arguments);
        assert_eq!(found, Err(FaultKind::Race), "{kernel}");
    }
}
