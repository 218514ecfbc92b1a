// Which way to add up a vector of each GPU is quicker.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Ring,
    Tags,
}

/// `wait` is in seconds, `rate` in bytes that a GPU sends in a second.
pub fn quicker(gpus: f64, bytes: f64, wait: f64, rate: f64) -> Way {
    // As many vectors as tags send to others, and as often as the ring waits.
    let steps = 2.0 * (gpus - 1.0);
    let ring = steps * wait + steps / gpus * bytes / rate;
    let tags = wait + steps * bytes / rate;
    if tags < ring { Way::Tags } else { Way::Ring }
}
