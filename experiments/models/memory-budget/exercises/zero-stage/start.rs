// The first ZeRO stage with which a model trains on `gpus` cards of `card_bytes` each.

pub fn first_stage(
    parameters: f64,
    gpus: f64,
    activation_bytes: f64,
    card_bytes: f64,
) -> Option<u32> {
    (0..=3).find(|_stage| {
        let states = (2.0 + 2.0 + 12.0) * parameters / gpus;
        states + activation_bytes <= 0.9 * card_bytes
    })
}
