//! What a machine is made of, with its bandwidths, and how several GPUs are joined.

use super::Drawing;
use super::canvas::{Anchor, COMPUTE, Canvas, DOWNLOAD, MEMORY, Pen, UPLOAD, area};
use super::facts::{Facts, Of};

pub(super) const MACHINE: Drawing = Drawing {
    name: "machine",
    title: "Where bytes can be, and how fast they get from one place to the next",
    description: "The host, with CPU cores and host memory, and a GPU. PCI Express joins host \
        memory and the GPU's copy engines. In the GPU, multiprocessors, each with registers, an L1 cache \
        and shared memory, stand above the L2 cache, and that above the device memory. Sizes \
        and theoretical peaks are written beside them as far as the record has them.",
    caption: "Where bytes can be. The closer to the multiprocessors, the less room there is, and \
        the faster it is. For the link and device memory, the theoretical peaks are given.",
    of: Of::AMachine,
    draw: machine,
};

/// `what`, and after a comma the number, if there is one.
fn with(what: &str, number: &Option<String>) -> String {
    match number {
        Some(number) => format!("{what}, {number}"),
        None => what.to_owned(),
    }
}

fn machine(c: &mut Canvas, facts: &Facts) {
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
    c.frame(cores, Pen::MUTED);
    c.label(cores, "CPU cores");
    c.frame(memory, MEMORY);
    c.label(memory, &with("host memory", &facts.host_memory));
    let link = match &facts.pcie_generation {
        Some(generation) => format!("PCI Express {generation}"),
        None => "PCI Express".to_owned(),
    };
    match c.pick(true, false) {
        true => {
            let x = memory.middle().0;
            c.both_ways(&[(x, cores.bottom), (x, memory.top)], Pen::MUTED);
            let middle = (memory.right + engines.left) / 2.0;
            c.text((middle, 168.0), Anchor::Middle, Pen::INK, &link);
            let peak = facts.link_peak.as_deref().unwrap_or_default();
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
            let link = match &facts.link_peak {
                Some(peak) => format!("{link}: {peak} each way"),
                None => link,
            };
            c.text((74.0, 126.0), Anchor::Start, Pen::INK, &link);
        }
    }
    c.frame(engines, UPLOAD);
    c.label(engines, "copy engines");

    let (column, width) = (left + 98.0, 238.0);
    let middle = column + width / 2.0;
    let corner = c.pick(left + 13.0, column);
    c.heading((corner, top + 17.0), Anchor::Start, "GPU");
    let count = match &facts.multiprocessors {
        Some(count) => format!("{count} multiprocessors (SMs)"),
        None => "multiprocessors (SMs)".to_owned(),
    };
    c.text((column + width, top + 17.0), Anchor::End, Pen::INK, &count);
    for n in 0..3 {
        let x = column + 81.0 * f64::from(n);
        c.frame(area(x, top + 31.0, 76.0, 67.0), COMPUTE);
        c.text((x + 38.0, top + 43.0), Anchor::Middle, Pen::INK, "SM");
        for (y, what) in [(53.0, "registers"), (75.0, "L1, shared")] {
            let place = area(x + 3.0, top + y, 70.0, 20.0);
            c.frame(place, MEMORY);
            c.label(place, what);
        }
    }
    let l2 = area(column, top + 149.0, width, 42.0);
    let device = area(column, top + 231.0, width, 56.0);
    c.frame(l2, MEMORY);
    c.label(l2, &with("L2 cache", &facts.l2));
    c.frame(device, MEMORY);
    c.label(device, &with("device memory", &facts.memory));
    for (from, to) in [(top + 98.0, l2.top), (l2.bottom, device.top)] {
        c.both_ways(&[(middle, from), (middle, to)], MEMORY);
    }
    let (peak, y) = (&facts.memory_peak, (l2.bottom + device.top) / 2.0);
    let peak = peak.as_deref().unwrap_or_default();
    c.text((middle + 10.0, y), Anchor::Start, Pen::INK, peak);
    let y = l2.middle().1;
    c.both_ways(&[(engines.right, y), (l2.left, y)], UPLOAD);
}

pub(super) const TOPOLOGY: Drawing = Drawing {
    name: "topology",
    title: "Each GPU has two ways out: to the other GPUs and to the host",
    description: "A row of GPUs. Above them a bar, NVLink, to which each is joined if the record \
        has such links; below them a bar, host memory, to which each is joined by PCI Express. \
        The bandwidth of one GPU's link is written on each bar.",
    caption: "How the GPUs of one machine are joined: by links to each other, where there are \
        any, and each by its own link to the host. Bandwidths are theoretical peaks of one GPU, \
        one way.",
    of: Of::SeveralGpus,
    draw: topology,
};

/// More GPUs than this are not drawn one by one.
const MOST_GPUS: usize = 8;

fn topology(c: &mut Canvas, facts: &Facts) {
    let count = facts.gpus.clamp(2, MOST_GPUS);
    let (pitch, width) = (c.width / count as f64, c.width - 2.0);
    let gpu = (pitch - 10.0).min(130.0);
    let links = area(1.0, 1.0, width, 44.0);
    let host = area(1.0, 197.0, width, 44.0);
    let with = |what: &str, peak: &Option<String>| match peak {
        Some(peak) => format!("{what}: {peak} each way for each GPU"),
        None => what.to_owned(),
    };
    if facts.nvlink_peak.is_some() {
        c.frame(links, UPLOAD);
        c.label(links, &with("NVLink", &facts.nvlink_peak));
    }
    for n in 0..count {
        let middle = (n as f64 + 0.5) * pitch;
        let place = area(middle - gpu / 2.0, 80.0, gpu, 62.0);
        c.frame(place, COMPUTE);
        c.label(place, &format!("GPU {n}"));
        if facts.nvlink_peak.is_some() {
            c.both_ways(&[(middle, links.bottom), (middle, place.top)], UPLOAD);
        }
        let (up, down) = (middle - 5.0, middle + 5.0);
        c.arrow(&[(up, host.top), (up, place.bottom)], UPLOAD);
        c.arrow(&[(down, place.bottom), (down, host.top)], DOWNLOAD);
    }
    c.frame(host, Pen::MUTED);
    c.label(host, &with("Host, by PCI Express", &facts.link_peak));
    if facts.gpus > count {
        let more = format!("and {} more GPUs", facts.gpus - count);
        c.text((width, host.bottom + 14.0), Anchor::End, Pen::MUTED, &more);
    }
}
