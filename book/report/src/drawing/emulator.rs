//! The emulated GPU.

use super::canvas::{Anchor, COMPUTE, Canvas, DRIVER, MEMORY, Pen, area};

pub(super) fn emulator(c: &mut Canvas) {
    let (program, gpu, api, interpreter, out) = c.pick(
        (
            area(1.0, 62.0, 118.0, 92.0),
            area(168.0, 1.0, 306.0, 216.0),
            area(181.0, 34.0, 118.0, 170.0),
            area(343.0, 34.0, 118.0, 170.0),
            [
                area(522.0, 34.0, 117.0, 44.0),
                area(522.0, 97.0, 117.0, 44.0),
                area(522.0, 160.0, 117.0, 44.0),
            ],
        ),
        (
            area(60.0, 1.0, 240.0, 44.0),
            area(1.0, 81.0, 358.0, 238.0),
            area(60.0, 112.0, 240.0, 74.0),
            area(60.0, 230.0, 240.0, 76.0),
            [
                area(1.0, 361.0, 112.0, 46.0),
                area(124.0, 361.0, 112.0, 46.0),
                area(247.0, 361.0, 112.0, 46.0),
            ],
        ),
    );
    c.thing(program, Pen::MUTED, "your program, with its kernels as PTX");
    c.outline(gpu, Pen::MUTED);
    c.heading((gpu.left + 13.0, gpu.top + 17.0), Anchor::Start, "The emulated GPU");
    c.thing(api, DRIVER, "driver API: memory, streams, events, launches");
    c.thing(interpreter, COMPUTE, "PTX interpreter: runs each warp, checks and counts each access");
    let results = ["results", "counts", "errors, with their line"];
    for (place, what) in out.into_iter().zip(results) {
        c.thing(place, MEMORY, what);
    }
    match c.pick(true, false) {
        true => {
            let y = program.middle().1;
            c.arrow(&[(program.right, y), (api.left, y)], DRIVER);
            c.arrow(&[(api.right, y), (interpreter.left, y)], COMPUTE);
            for place in out {
                let y = place.middle().1;
                c.arrow(&[(interpreter.right, y), (place.left, y)], MEMORY);
            }
        }
        false => {
            let x = program.middle().0;
            c.arrow(&[(x, program.bottom), (x, api.top)], DRIVER);
            c.arrow(&[(x, api.bottom), (x, interpreter.top)], COMPUTE);
            for place in out {
                let x = place.middle().0.clamp(interpreter.left + 20.0, interpreter.right - 20.0);
                c.arrow(&[(x, interpreter.bottom), (x, place.top)], MEMORY);
            }
        }
    }
}
