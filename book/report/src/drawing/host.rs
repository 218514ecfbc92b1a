//! Host memory: who moves its bytes to the GPU, what happens at a page fault, what a program
//! brings to the GPU, and a loader's slots.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, DRIVER, MEMORY, Pen, UPLOAD, area};
use super::facts::{Facts, Of};

pub(super) const KINDS: Drawing = Drawing {
    name: "host-memory",
    title: "Four kinds of host memory differ in who moves the bytes",
    description: "Four rows, each from the host on the left to the GPU on the right. Pageable \
        memory: a CPU core copies into the driver's pinned buffer, a copy engine from there to \
        device memory. Pinned memory: a copy engine takes it straight to device memory. Mapped \
        memory: nothing is copied, the threads of a kernel read it over the link. Managed \
        memory: the driver moves pages, to the GPU or back, when they are accessed.",
    caption: "Four kinds of host memory, and who moves the bytes. The line in the middle is the \
        link, PCI Express.",
    of: Of::Nobody,
    draw: kinds,
};

fn kinds(c: &mut Canvas, _: &Facts) {
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
        c.frame(source, MEMORY);
        c.label(source, here);
        if n == 0 {
            c.arrow(&[(near.right, y), (middle.left, y)], Pen::INK);
            c.frame(middle, MEMORY);
            c.label(middle, "driver's pinned buffer");
        }
        c.frame(far, far_pen);
        c.label(far, there);
        let path = [(middle.right, y), (far.left, y)];
        match mover == UPLOAD {
            true => c.arrow(&path, mover),
            false => c.both_ways(&path, mover),
        }
    }
}

pub(super) const FAULT: Drawing = Drawing {
    name: "page-fault",
    title: "A page fault goes in a circle: from the warp to the driver, and with the page back \
        to the warp",
    description: "A circle of four numbered arrows. One: a warp on the GPU touches a page that \
        the GPU's page table lacks, and the driver on the host is told. Two: the driver takes \
        the page out of the CPU's page table. Three: a copy engine moves the page to device \
        memory. Four: the page is entered into the GPU's page table, and the warp tries again.",
    caption: "What touching a managed page sets off if the page is in the other memory. The warp \
        waits until the circle is closed.",
    of: Of::Nobody,
    draw: fault,
};

fn fault(c: &mut Canvas, _: &Facts) {
    let width = c.pick(170.0, 112.0);
    let right = c.width - 1.0 - width;
    c.heading((1.0, 10.0), Anchor::Start, "Host");
    c.heading((c.width - 1.0, 10.0), Anchor::End, "GPU");
    let driver = area(1.0, 26.0, width, 54.0);
    let warp = area(right, 26.0, width, 54.0);
    let memory = area(1.0, 150.0, width, 72.0);
    let device = area(right, 150.0, width, 72.0);
    c.frame(driver, DRIVER);
    c.label(driver, "driver, on a CPU core");
    c.frame(warp, COMPUTE);
    c.label(warp, "warp, waiting");
    for (place, name) in [(memory, "host memory"), (device, "device memory")] {
        c.frame(place, MEMORY);
        c.text((place.middle().0, place.top + 16.0), Anchor::Middle, Pen::INK, name);
    }
    let page = |x: f64| area(x - 28.0, 182.0, 56.0, 30.0);
    let (from, to) = (page(memory.middle().0), page(device.middle().0));
    c.ghost(from, MEMORY);
    c.cell(to, MEMORY, 0.4);
    c.label(to, "page");
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

pub(super) const STEPS: Drawing = Drawing {
    name: "steps",
    title: "A program loads a kernel, brings inputs to the GPU, launches, and fetches the result",
    description: "The host on the left and the GPU on the right, joined by four numbered arrows \
        from top to bottom. One, to the GPU: the kernel, as PTX. Two, to the GPU: the arrays a \
        and b, while sum is made there and cleared. Three, to the GPU: the launch, after which \
        the kernel reads a and b and writes sum. Four, to the host: sum.",
    caption: "The four steps of the program, from top to bottom. The dashed arrow carries a \
        call, and no data.",
    of: Of::Nobody,
    draw: steps,
};

fn steps(c: &mut Canvas, _: &Facts) {
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
            c.frame(place, if pen == COMPUTE { pen } else { MEMORY });
            c.label(place, what);
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

pub(super) const SHELF: Drawing = Drawing {
    name: "shelf",
    title: "Slots go round: empty to the producer, filled to the copy, and back",
    description: "On the left the producer, a host thread; on the right the copy to the GPU; \
        between them a shelf of two rows of slots. From the producer an arrow leads to the filled \
        slots, and from these to the copy. From the copy an arrow leads back to the empty slots, \
        and from these to the producer.",
    caption: "The producer fills an empty slot, and `next` queues the copy of a filled one. When \
        that copy is done, the slot is empty again.",
    of: Of::Nobody,
    draw: shelf,
};

fn shelf(c: &mut Canvas, _: &Facts) {
    let (width, slot) = c.pick((150.0, 44.0), (86.0, 30.0));
    let producer = area(1.0, 24.0, width, 108.0);
    let copy = area(c.width - 1.0 - width, 24.0, width, 108.0);
    for (place, pen, what) in
        [(producer, DRIVER, "producer, a host thread"), (copy, UPLOAD, "copy to the GPU")]
    {
        c.frame(place, pen);
        c.label(place, what);
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
