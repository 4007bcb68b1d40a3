//! The tables of real results: what they sum to, what both forms hold, and what no form may hold.

mod goldens;
mod names;
mod quantiles;
mod schema;
mod support;
