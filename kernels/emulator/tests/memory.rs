//! Buffers, their places and their errors.

use emulator::{Memory, MemoryError};

use crate::common::{Device, Host};

#[test]
fn buffers_are_aligned_apart_and_counted() {
    let mut memory = Memory::new(10_000);
    let (a, b) = (memory.allocate(1, "a").unwrap(), memory.allocate(5000, "b").unwrap());
    assert!(a % 512 == 0 && b % 512 == 0 && b > a + 1);
    assert_eq!(memory.used(), 5001);
    let error = memory.allocate(5000, "c").unwrap_err();
    assert_eq!(error.to_string(), "out of memory: 5000 bytes wanted, 4999 left");
    memory.free(b).unwrap();
    assert_eq!(memory.used(), 1);
    // Addresses are not given again.
    assert!(memory.allocate(5000, "c").unwrap() > b);
    assert_eq!(memory.buffer(a).unwrap().name, "a");
    assert!(memory.buffer(a + 1).is_none());
}

#[test]
fn errors_say_where() {
    let mut memory = Memory::new(1 << 20);
    let a = memory.allocate(100, "a").unwrap();
    let mut bytes = [0; 8];
    for (address, place) in [
        (0, "a null pointer, or near one".to_owned()),
        (a + 96, format!("the last 4 bytes are past the end of a (100 bytes at {a:#x})")),
        (a + 100, format!("right behind the end of a (100 bytes at {a:#x})")),
        (a + 130, format!("30 bytes past the end of a (100 bytes at {a:#x})")),
        (a - 16, format!("16 bytes before the start of a (100 bytes at {a:#x})")),
    ] {
        let error = memory.read(address, &mut bytes).unwrap_err();
        assert_eq!(error.to_string(), format!("8 bytes at {address:#x}: {place}"));
    }
    memory.free(a).unwrap();
    for error in [memory.free(a), memory.write(a + 4, &[1])] {
        assert!(matches!(error, Err(MemoryError::UseAfterFree { .. })), "{error:?}");
    }
    assert!(matches!(memory.free(a + 4096), Err(MemoryError::NotABuffer { .. })));
    memory.allocate_at(0x5000_0000, 64, "x").unwrap();
    let error = memory.allocate_at(0x5000_003f, 64, "y").unwrap_err();
    assert_eq!(error.to_string(), "at 0x5000003f there is already x");
    assert!(memory.allocate_at(u64::MAX - 3, 64, "z").is_err());
}

#[test]
fn what_was_written_is_known_and_copied() {
    let mut memory = Memory::new(1 << 20);
    let (a, b) = (memory.allocate(1000, "a").unwrap(), memory.allocate(1000, "b").unwrap());
    memory.fill(a, &[1, 2], 100).unwrap();
    memory.write(a + 300, &[7; 200]).unwrap();
    assert_eq!(memory.first_unwritten(a, 1000), Ok(Some(a + 200)));
    assert_eq!(memory.first_unwritten(a + 300, 200), Ok(None));
    memory.fill(b, &[0], 1000).unwrap();
    memory.copy(b + 10, a + 100, 300).unwrap();
    assert_eq!(memory.first_unwritten(b, 110), Ok(None));
    assert_eq!(memory.first_unwritten(b, 1000), Ok(Some(b + 110)));
    assert_eq!(memory.first_unwritten(b + 210, 790), Ok(None));
    let mut bytes = [0; 3];
    memory.read(b + 210, &mut bytes).unwrap();
    assert_eq!(bytes, [7; 3]);
    // Over itself.
    memory.copy(a + 1, a, 199).unwrap();
    memory.read(a, &mut bytes).unwrap();
    assert_eq!(bytes, [1, 1, 2]);
}

/// A kernel answers questions of the host while it runs, however long the host thinks.
#[test]
fn memory_of_the_host_is_shared_at_once() {
    let mut device = Device::workbook("transfer-latency");
    let host = Host::new(8);
    let address = 0x7000_0000_0000u64;
    device.memory.map_host(address, Box::new(host.clone()), "mailbox").unwrap();
    let arguments = arguments![u64 address, u64 address + 4, u32 3, u32 u32::MAX];
    let kernel = std::thread::spawn(move || {
        device.run("answer", [1, 1, 1], [1, 1, 1], &arguments).map(|_| ())
    });
    for question in [5u32, 9, 2] {
        std::thread::sleep(std::time::Duration::from_millis(300)); // millions of instructions
        host.0.lock().unwrap().0[..4].copy_from_slice(&question.to_le_bytes());
        while host.0.lock().unwrap().0[4..] != (question + 1).to_le_bytes() {
            assert!(!kernel.is_finished() || question == 2);
            std::thread::yield_now();
        }
    }
    kernel.join().unwrap().unwrap();
}
