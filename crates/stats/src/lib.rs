//! Pure mathematics: histograms, quantiles, intervals. No types of dwell's own, no IO.

pub mod binomial;
pub mod extremes;
pub mod fine;
pub mod histogram;
pub mod interval;
pub mod median;
mod random;
mod ratio;
mod special;

pub use histogram::Histogram;
pub use interval::{Proportion, wilson, wilson_of};
pub use median::{Median, median};
pub use random::Random;
pub use ratio::{Sums, ratio};
