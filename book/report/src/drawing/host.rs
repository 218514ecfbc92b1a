//! Host memory: who moves its bytes to the GPU, what happens at a page fault, what a program
//! brings to the GPU, and a loader's slots.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, DRIVER, MEMORY, Pen, UPLOAD, area};

pub(super) fn kinds(c: &mut Canvas) {
    const PITCH: f64 = 96.0;
    const BOX: f64 = 44.0;
    let width = c.pick(150.0, 92.0);
    let [first, second] = [1.0, c.pick(222.0, 134.0)];
    let third = c.width - 1.0 - width;
    let link = (second + width + third) / 2.0;
    let held = "your pages, held in place";
    let rows = [
        (
            ("Pageable", "a CPU core copies, then a copy engine"),
            ("your pages", "device memory"),
            (MEMORY, UPLOAD),
        ),
        (("Pinned", "a copy engine copies"), (held, "device memory"), (MEMORY, UPLOAD)),
        (
            ("Mapped", "threads read and write it where it is"),
            (held, "threads"),
            (COMPUTE, COMPUTE),
        ),
        (
            ("Managed", "the driver moves pages that are touched"),
            ("pages that are here", "pages that are there"),
            (MEMORY, DRIVER),
        ),
    ];
    for (n, ((kind, who), (here, there), (far_pen, mover))) in rows.into_iter().enumerate() {
        let top = n as f64 * PITCH;
        c.heading((1.0, top + 10.0), Anchor::Start, kind);
        c.text((c.width - 1.0, top + 10.0), Anchor::End, Pen::INK, who);
        let place = |x| area(x, top + 26.0, width, BOX);
        let (near, middle, far) = (place(first), place(second), place(third));
        let y = near.middle().1;
        c.line(&[(link, top + 22.0), (link, top + 74.0)], Pen::MUTED);
        let source = match n {
            0 => near,
            _ => area(first, near.top, middle.right - first, BOX),
        };
        c.thing(source, MEMORY, here);
        if n == 0 {
            c.arrow(&[(near.right, y), (middle.left, y)], Pen::INK);
            c.thing(middle, MEMORY, "driver's pinned buffer");
        }
        c.thing(far, far_pen, there);
        let path = [(middle.right, y), (far.left, y)];
        if mover == UPLOAD { c.arrow(&path, mover) } else { c.both_ways(&path, mover) }
    }
}

pub(super) fn fault(c: &mut Canvas) {
    let width = c.pick(170.0, 112.0);
    let right = c.width - 1.0 - width;
    c.heading((1.0, 10.0), Anchor::Start, "Host");
    c.heading((c.width - 1.0, 10.0), Anchor::End, "GPU");
    let driver = area(1.0, 26.0, width, 54.0);
    let warp = area(right, 26.0, width, 54.0);
    let memory = area(1.0, 150.0, width, 72.0);
    let device = area(right, 150.0, width, 72.0);
    c.thing(driver, DRIVER, "driver, on a CPU core");
    c.thing(warp, COMPUTE, "warp, waiting");
    for (place, name) in [(memory, "host memory"), (device, "device memory")] {
        c.frame(place, MEMORY);
        c.text((place.middle().0, place.top + 16.0), Anchor::Middle, Pen::INK, name);
    }
    let page = |x: f64| area(x - 28.0, 182.0, 56.0, 30.0);
    let (from, to) = (page(memory.middle().0), page(device.middle().0));
    c.ghost(from, MEMORY);
    c.named(to, MEMORY, 0.4, "page");
    let (x, y) = (driver.middle().0, driver.middle().1);
    c.signal(&[(warp.left, y), (driver.right, y)], COMPUTE);
    c.signal(&[(x, driver.bottom), (x, memory.top)], DRIVER);
    let low = from.middle().1;
    c.arrow(&[(from.right, low), (to.left, low)], UPLOAD);
    let x4 = device.middle().0;
    c.signal(&[(x4, device.top), (x4, warp.bottom)], DRIVER);
    let middle = c.width / 2.0;
    let between = (driver.bottom + memory.top) / 2.0;
    let places =
        [(middle, y - 14.0), (x + 16.0, between), (middle, low - 14.0), (x4 - 16.0, between)];
    for (n, place) in places.into_iter().enumerate() {
        c.heading(place, Anchor::Middle, &(n + 1).to_string());
    }
    let steps = [
        "1  The page is not in the GPU's page table: a fault.",
        "2  The driver takes the page out of the CPU's page table.",
        "3  A copy engine moves the page.",
        "4  The page is in the GPU's page table; the warp goes on.",
    ];
    let mut y = 246.0;
    for step in steps {
        y = c.paragraph((1.0, y), c.width - 2.0, Anchor::Start, step);
    }
}

pub(super) fn steps(c: &mut Canvas) {
    const PITCH: f64 = 54.0;
    let width = c.pick(170.0, 112.0);
    let right = c.width - 1.0 - width;
    let rows = [
        ("1", "kernel's PTX", "kernel", COMPUTE),
        ("2", "a and b", "a, b, sum", UPLOAD),
        ("3", "launch", "kernel runs", COMPUTE),
        ("4", "sum", "sum", DOWNLOAD),
    ];
    c.heading((1.0, 10.0), Anchor::Start, "Host");
    c.heading((c.width - 1.0, 10.0), Anchor::End, "GPU");
    for (row, (number, here, there, pen)) in rows.into_iter().enumerate() {
        let top = 26.0 + row as f64 * PITCH;
        let (near, far) = (area(1.0, top, width, 36.0), area(right, top, width, 36.0));
        for (place, what) in [(near, here), (far, there)] {
            c.thing(place, if pen == COMPUTE { pen } else { MEMORY }, what);
        }
        let y = near.middle().1;
        let path = [(near.right + 2.0, y), (far.left - 2.0, y)];
        match number {
            "3" => c.signal(&path, pen),
            "4" => c.arrow(&[path[1], path[0]], pen),
            _ => c.arrow(&path, pen),
        }
        c.heading((c.width / 2.0, y - 12.0), Anchor::Middle, number);
    }
}

pub(super) fn shelf(c: &mut Canvas) {
    let (width, slot) = c.pick((150.0, 44.0), (86.0, 30.0));
    let producer = area(1.0, 24.0, width, 108.0);
    let copy = area(c.width - 1.0 - width, 24.0, width, 108.0);
    for (place, pen, what) in
        [(producer, DRIVER, "producer, a host thread"), (copy, UPLOAD, "copy to the GPU")]
    {
        c.thing(place, pen, what);
    }
    let middle = c.width / 2.0;
    for (row, (name, opacity)) in [("filled", 0.35), ("empty", 0.0)].into_iter().enumerate() {
        let top = 32.0 + row as f64 * 62.0;
        let slots = [-1.0, 0.0].map(|n| area(middle + n * slot, top, slot, 30.0));
        for slot in slots {
            c.cell(slot.inside(1.0), MEMORY, opacity);
        }
        c.text((middle, top - 12.0), Anchor::Middle, Pen::INK, name);
        let y = slots[0].middle().1;
        let paths = [
            [(producer.right + 2.0, y), (slots[0].left - 2.0, y)],
            [(slots[1].right + 2.0, y), (copy.left - 2.0, y)],
        ];
        for [from, to] in paths {
            match name {
                "filled" => c.arrow(&[from, to], UPLOAD),
                _ => c.signal(&[to, from], DRIVER),
            }
        }
    }
}
