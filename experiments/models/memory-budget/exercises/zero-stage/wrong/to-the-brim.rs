// The first ZeRO stage with which a model trains on `gpus` cards of `card_bytes` each.

pub fn first_stage(
    parameters: f64,
    gpus: f64,
    activation_bytes: f64,
    card_bytes: f64,
) -> Option<u32> {
    (0..=3).find(|stage| {
        let part = |from: u32| if *stage >= from { 1.0 / gpus } else { 1.0 };
        let per_parameter = 2.0 * part(3) + 2.0 * part(2) + 12.0 * part(1);
        per_parameter * parameters + activation_bytes <= card_bytes
    })
}
