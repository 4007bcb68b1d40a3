//! What a run's evidence means: what bounds the program, which limits were reached, which causes show.
//!
//! Every threshold and every conclusion about a run is here, a file for each question; `report` makes words of them. What
//! a single wait was for is up to [`classify`](crate::classify), what the time sums to up to the accounts.

pub(crate) mod bound;
pub(crate) mod causes;
pub(crate) mod limits;
