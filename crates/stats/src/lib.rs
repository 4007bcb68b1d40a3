//! Pure mathematics: histograms, quantiles, intervals. No types of dwell's own, no IO.

pub mod binomial;
pub mod extremes;
pub mod fine;
pub mod histogram;
pub mod interval;
pub mod log_linear;
mod mean;
pub mod median;
pub mod paired;
pub mod poisson;
mod random;
mod ratio;
mod special;
mod student;

pub use histogram::Histogram;
pub use interval::{Proportion, wilson, wilson_of};
pub use log_linear::LogLinear;
pub use mean::mean;
pub use median::{Median, median, median_of, quantile};
pub use random::Random;
pub use ratio::Sums;
pub use student::{mean_interval, student};
