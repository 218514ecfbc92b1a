// The bytes of the keys and values that a model keeps for all users' tokens.

/// What attention is made of.
pub struct Shape {
    pub layers: u64,
    /// Heads that ask.
    pub heads: u64,
    /// Heads that have keys and values.
    pub kv_heads: u64,
    /// Numbers in a head.
    pub head_dim: u64,
}

pub fn kv_cache_bytes(shape: &Shape, users: u64, tokens: u64, bits: u64) -> u64 {
    let per_token = 2 * shape.layers * shape.kv_heads * shape.head_dim;
    users * tokens * per_token * 2
}
