//! Kernels of the workbook on shapes that their lesson does not run, and one that is not supported.

use crate::common::{Device, word};

const RAGGED: [(usize, usize); 3] = [(96, 64), (100, 77), (33, 1)];

#[test]
fn transposes_of_any_shape() {
    let mut device = Device::workbook("transpose");
    for (width, height) in RAGGED {
        let tiles = [width.div_ceil(32) as u32, height.div_ceil(32) as u32, 1];
        let tall = [height.div_ceil(64) as u32, width.div_ceil(32) as u32, 1];
        let kernels = [
            ("read_coalesced", tiles, [32, 32, 1]),
            ("write_coalesced", tiles, [32, 32, 1]),
            ("tile", tiles, [32, 32, 1]),
            ("tile_padded", tiles, [32, 32, 1]),
            ("several", tiles, [32, 8, 1]),
            ("swizzled", tiles, [32, 8, 1]),
            ("any_shape", tall, [32, 8, 1]),
        ];
        for (kernel, grid, block) in kernels {
            transpose(&mut device, kernel, grid, block, width, height);
        }
    }
    for (width, height) in [(128usize, 64usize), (132, 76)] {
        let (across, down) = (width.div_ceil(64) as u32, height.div_ceil(64) as u32);
        let block = [256, 1, 1];
        transpose(&mut device, "vectors", [across, down, 1], block, width, height);
        let turned = [down, across, 1];
        transpose(&mut device, "downwards", turned, block, width, height);
        let device = &mut Device::workbook("transpose-kept");
        transpose(device, "downwards_kept", turned, block, width, height);
    }
}

fn transpose(
    device: &mut Device,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    width: usize,
    height: usize,
) {
    let input = device.words("in", (0..width * height).map(word));
    let output = device.fresh("out", width * height);
    let arguments = arguments![u64 input, u64 output, u32 width, u32 height];
    device.run(kernel, grid, block, &arguments).unwrap();
    let result = device.read(output, width * height);
    for (place, value) in result.into_iter().enumerate() {
        let (x, y) = (place / height, place % height);
        assert_eq!(value, word(y * width + x), "{kernel} {width} × {height}: {x}, {y}");
    }
}

#[test]
fn a_transpose_in_place() {
    let mut device = Device::workbook("transpose");
    for side in [64usize, 192, 196, 256] {
        let matrix = device.words("matrix", (0..side * side).map(word));
        let tiles = side.div_ceil(64) as u32;
        let grid = [tiles / 2 + 1, tiles, 1];
        let arguments = arguments![u64 matrix, u32 side];
        device.run("in_place", grid, [256, 1, 1], &arguments).unwrap();
        let result = device.read(matrix, side * side);
        for (place, value) in result.into_iter().enumerate() {
            assert_eq!(value, word(place % side * side + place / side));
        }
    }
}

#[test]
fn what_is_not_supported_is_named() {
    let device = Device::workbook("transpose-bulk");
    let error = device.module.kernel("bulk").unwrap().unsupported.clone().unwrap();
    assert_eq!(error.what, "mbarrier.init.shared.b64 is not supported");
}
