//! Random choices from libFuzzer's seed (the xorshift of Marsaglia 2003).

/// A sequence of numbers.
pub struct Random(u64);

impl Random {
    /// Of this seed.
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed) << 20 | 0x9_e377)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`; 0 for 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.any() % end.max(1) as u64) as usize
    }

    /// A number that an overflow, a rounding or a limit may be at, or one near `was`.
    pub fn number(&mut self, was: u64) -> u64 {
        const EDGES: [u64; 14] = [
            0,
            1,
            2,
            7,
            100,
            1_000_000,
            1_000_000_000,
            u32::MAX as u64,
            1 << 32,
            1 << 53,
            i64::MAX as u64,
            1 << 63,
            u64::MAX - 1,
            u64::MAX,
        ];
        match self.below(8) {
            0..3 => EDGES[self.below(EDGES.len())],
            3 => was.wrapping_add(1),
            4 => was.wrapping_sub(1),
            5 => was.wrapping_mul(self.any() % 2000),
            6 => was ^ 1 << self.below(64),
            _ => self.any() >> self.below(64),
        }
    }
}
