use mine::{Shape, kv_cache_bytes};
use trial::{Result, Trial};

pub fn check(trial: &mut Trial) -> Result<()> {
    // layers, heads, heads with keys and values, width; users, tokens, bits of a number
    for [layers, heads, kv_heads, head_dim, users, tokens, bits] in [
        [80, 64, 8, 128, 32, 8192, 16],
        [32, 32, 32, 128, 1, 4096, 16],
        [32, 32, 8, 128, 3, 1001, 8],
        [5, 6, 2, 64, 7, 33, 4],
    ] {
        let shape = Shape { layers, heads, kv_heads, head_dim };
        let title = format!("{layers} layers, {kv_heads} of {heads} heads, {bits} bits");
        let found = trial
            .watch(&title, || Ok(kv_cache_bytes(&shape, users, tokens, bits)))?;
        // Counted one by one: a key and a value each.
        let mut numbers = 0;
        for _layer in 0..layers {
            for _head in 0..kv_heads {
                numbers += head_dim + head_dim;
            }
        }
        let wanted = numbers * users * tokens * bits / 8;
        if found != wanted {
            trial.wrong(&format!("{title}: {found} bytes, and has to be {wanted}"));
        }
    }
    Ok(())
}
