//! What a machine is made of, with its bandwidths; how several GPUs are joined, and locked.

use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, UPLOAD, area};

pub(super) fn machine(c: &mut Canvas) {
    let facts = c.facts;
    let (host, cores, memory, gpu) = c.pick(
        (
            area(1.0, 1.0, 178.0, 300.0),
            area(14.0, 34.0, 152.0, 64.0),
            area(14.0, 150.0, 152.0, 138.0),
            area(292.0, 1.0, 347.0, 300.0),
        ),
        (
            area(1.0, 1.0, 358.0, 100.0),
            area(214.0, 32.0, 132.0, 56.0),
            area(13.0, 32.0, 158.0, 56.0),
            area(1.0, 150.0, 358.0, 300.0),
        ),
    );
    let (left, top) = (gpu.left, gpu.top);
    let engines = area(left + 12.0, top + 149.0, 66.0, 138.0);
    c.outline(host, Pen::MUTED);
    c.outline(gpu, Pen::MUTED);
    c.heading((host.left + 13.0, host.top + 17.0), Anchor::Start, "Host");
    c.thing(cores, Pen::MUTED, "CPU cores");
    c.thing(memory, MEMORY, &facts.with("host memory", ", ", "host"));
    let link = facts.with("PCI Express", " ", "pcie_generation");
    match c.pick(true, false) {
        true => {
            let x = memory.middle().0;
            c.both_ways(&[(x, cores.bottom), (x, memory.top)], Pen::MUTED);
            let middle = (memory.right + engines.left) / 2.0;
            c.text((middle, 168.0), Anchor::Middle, Pen::INK, &link);
            let peak = facts.get("link_peak").unwrap_or_default();
            c.arrow(&[(memory.right, 208.0), (engines.left, 208.0)], UPLOAD);
            c.text((middle, 197.0), Anchor::Middle, UPLOAD, peak);
            c.arrow(&[(engines.left, 252.0), (memory.right, 252.0)], DOWNLOAD);
            c.text((middle, 241.0), Anchor::Middle, DOWNLOAD, peak);
        }
        false => {
            let y = memory.middle().1;
            c.both_ways(&[(memory.right, y), (cores.left, y)], Pen::MUTED);
            c.arrow(&[(32.0, memory.bottom), (32.0, engines.top)], UPLOAD);
            c.arrow(&[(60.0, engines.top), (60.0, memory.bottom)], DOWNLOAD);
            let link = match facts.get("link_peak") {
                Some(peak) => format!("{link}: {peak} each way"),
                None => link,
            };
            c.text((74.0, 126.0), Anchor::Start, Pen::INK, &link);
        }
    }
    c.thing(engines, UPLOAD, "copy engines");

    let (column, width) = (left + 98.0, 238.0);
    let middle = column + width / 2.0;
    let corner = c.pick(left + 13.0, column);
    c.heading((corner, top + 17.0), Anchor::Start, "GPU");
    let count = facts.get("multiprocessors").unwrap_or_default();
    let count = format!("{count} multiprocessors (SMs)");
    c.text((column + width, top + 17.0), Anchor::End, Pen::INK, count.trim_start());
    for n in 0..3 {
        let x = column + 81.0 * f64::from(n);
        c.frame(area(x, top + 31.0, 76.0, 67.0), COMPUTE);
        c.text((x + 38.0, top + 43.0), Anchor::Middle, Pen::INK, "SM");
        for (y, what) in [(53.0, "registers"), (75.0, "L1, shared")] {
            let place = area(x + 3.0, top + y, 70.0, 20.0);
            c.thing(place, MEMORY, what);
        }
    }
    let l2 = area(column, top + 149.0, width, 42.0);
    let device = area(column, top + 231.0, width, 56.0);
    c.thing(l2, MEMORY, &facts.with("L2 cache", ", ", "l2_bytes"));
    c.thing(device, MEMORY, &facts.with("device memory", ", ", "memory_bytes"));
    for (from, to) in [(top + 98.0, l2.top), (l2.bottom, device.top)] {
        c.both_ways(&[(middle, from), (middle, to)], MEMORY);
    }
    let y = (l2.bottom + device.top) / 2.0;
    let peak = facts.get("memory_peak").unwrap_or_default();
    c.text((middle + 10.0, y), Anchor::Start, Pen::INK, peak);
    let y = l2.middle().1;
    c.both_ways(&[(engines.right, y), (l2.left, y)], UPLOAD);
}

/// More GPUs than this are not drawn one by one.
const MOST_GPUS: usize = 8;

pub(super) fn topology(c: &mut Canvas) {
    let facts = c.facts;
    let count = facts.gpus.clamp(2, MOST_GPUS);
    let (pitch, width) = (c.width / count as f64, c.width - 2.0);
    let gpu = (pitch - 10.0).min(130.0);
    let links = area(1.0, 1.0, width, 44.0);
    let host = area(1.0, 197.0, width, 44.0);
    let with = |what: &str, peak: &str| match facts.get(peak) {
        Some(peak) => format!("{what}: {peak} each way for each GPU"),
        None => what.to_owned(),
    };
    let has_links = facts.get("nvlink_peak").is_some();
    if has_links {
        c.thing(links, UPLOAD, &with("NVLink", "nvlink_peak"));
    }
    for n in 0..count {
        let middle = (n as f64 + 0.5) * pitch;
        let place = area(middle - gpu / 2.0, 80.0, gpu, 62.0);
        c.thing(place, COMPUTE, &format!("GPU {n}"));
        if has_links {
            c.both_ways(&[(middle, links.bottom), (middle, place.top)], UPLOAD);
        }
        let (up, down) = (middle - 5.0, middle + 5.0);
        c.arrow(&[(up, host.top), (up, place.bottom)], UPLOAD);
        c.arrow(&[(down, place.bottom), (down, host.top)], DOWNLOAD);
    }
    c.thing(host, Pen::MUTED, &with("Host, by PCI Express", "link_peak"));
    if facts.gpus > count {
        let more = format!("and {} more GPUs", facts.gpus - count);
        c.text((width, host.bottom + 14.0), Anchor::End, Pen::MUTED, &more);
    }
}

pub(super) fn locks(c: &mut Canvas) {
    let (gpu, lock) = c.pick((170.0, 130.0), (104.0, 76.0));
    let left = area(1.0, 1.0, gpu, 150.0);
    let right = area(c.width - 1.0 - gpu, 1.0, gpu, 150.0);
    for (place, name) in [(left, "GPU 0"), (right, "GPU 1")] {
        c.outline(place, Pen::MUTED);
        c.heading((place.left + 9.0, 16.0), Anchor::Start, name);
    }
    let user = area(left.left + 8.0, 33.0, gpu - 16.0, 108.0);
    c.thing(user, COMPUTE, "copy engine or kernel");
    let middle = c.width / 2.0;
    let locks = [
        (33.0, "from cuMemAlloc", c.pick("the context's lock", "context")),
        (91.0, "from a pool", c.pick("the pool's lock", "pool")),
    ];
    for (top, memory, name) in locks {
        let place = area(right.left + 8.0, top, gpu - 16.0, 50.0);
        c.thing(place, MEMORY, memory);
        let y = place.middle().1;
        let switch = area(middle - lock / 2.0, y - 15.0, lock, 30.0);
        c.named(switch, Pen::MUTED, 0.1, name);
        c.line(&[(user.right, y), (switch.left, y)], UPLOAD);
        c.arrow(&[(switch.right, y), (place.left, y)], UPLOAD);
    }
    let host = area(1.0, 201.0, c.width - 2.0, 40.0);
    c.thing(host, Pen::MUTED, "host memory");
    let [down, up] = [left, right].map(|gpu| gpu.middle().0);
    c.arrow(&[(down, left.bottom), (down, host.top)], DOWNLOAD);
    c.arrow(&[(up, host.top), (up, right.bottom)], UPLOAD);
    c.text((middle, 176.0), Anchor::Middle, Pen::INK, "copies, if a lock is closed");
}
