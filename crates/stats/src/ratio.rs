//! The ratio of two sums over windows that began at random, for counts that come in bursts.
//!
//! Each window stands for the time that was skipped to come to it, as long as that is on average:
//! then the sums have no bias, whatever the rates before and after have to do with each other
//! (Horvitz and Thompson 1952; a window's chance to be taken depends on what was seen before it
//! alone). Few windows have most of a count that comes in bursts. So the interval is made on a
//! logarithmic scale, widened for one burst more, as large as the largest met, and has the degrees
//! of freedom of the windows that matter.

use crate::student::student;

/// Sums over n windows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sums {
    /// The number of windows.
    pub n: u64,
    /// The sum of x.
    pub x: f64,
    /// The sum of y.
    pub y: f64,
    /// The sum of x squared.
    pub xx: f64,
    /// The sum of y squared.
    pub yy: f64,
    /// The sum of x times y.
    pub xy: f64,
    /// The largest distance of a y from what the ratio so far made of its x.
    pub worst: f64,
}

/// With fewer windows a burst of some length is easily missed by all of them.
const WINDOWS_MIN: u64 = 12;
/// Fewer windows that have most of the count say nothing of how much they may have.
const EFFECTIVE_MIN: f64 = 5.0;

impl Sums {
    /// Adds a window.
    pub fn add(&mut self, x: f64, y: f64) {
        self.n += 1;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
        if self.x > 0.0 {
            self.worst = self.worst.max((y - self.y / self.x * x).abs());
        }
    }

    /// The ratio y/x with its 95 % interval; `taken` is how much of x was observed itself, for each
    /// x that it stands for.
    ///
    /// None where the windows cannot bound it: with fewer than twelve, or where less than five have
    /// most of it.
    pub fn ratio(&self, taken: f64) -> Option<(f64, f64, f64)> {
        let Self { n, x, y, xx, yy, xy, worst } = *self;
        if n < WINDOWS_MIN || x <= 0.0 || y <= 0.0 {
            return None;
        }
        let effective = (x * x / xx).min(y * y / yy);
        if effective < EFFECTIVE_MIN {
            return None;
        }
        let (n, ratio) = (n as f64, y / x);
        let squares = (yy - 2.0 * ratio * xy + ratio * ratio * xx).max(0.0);
        let burst = worst * worst;
        // What was skipped varies too.
        let variance = n / (n - 1.0) * (squares + burst) * (1.0 + taken.clamp(0.0, 1.0));
        // Windows that have most of the spread.
        let spread = if burst > 0.0 { (squares / burst).max(LEAST_DF) } else { n };
        let half = student((effective - 1.0).min(spread)) * variance.sqrt() / y;
        Some((ratio, ratio * (-half).exp(), ratio * half.exp()))
    }
}

/// The expansion of Student's t is of no use below.
const LEAST_DF: f64 = 1.5;

#[cfg(test)]
mod tests;
