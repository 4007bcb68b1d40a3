//! Results and where they go: the page, and the forms that are exported.
//!
//! A result implements [`Render`] in a file of its own. A new export format of a result is a
//! function in `report` and a line in the result's [`Render::forms`]: its option, its help and its
//! check come from that line.

mod args;
mod compare;
mod counts;
mod diff;
mod doctor;
mod export;
mod lab;
mod ladder;
mod load;
mod outputs;
mod page;
mod path;
mod render;
mod run;
mod trend;
mod wake;
mod what_if;

pub(crate) use args::{FormArgs, OutputArgs};
pub(crate) use compare::CompareResult;
pub(crate) use counts::{BlocksResult, HitsResult};
pub(crate) use diff::{
    LabDiffResult, LadderDiffResult, RunDiffResult, SittingsResult, TimingsDiffResult, WakeDiffResult,
};
pub(crate) use doctor::DoctorResult;
pub(crate) use export::ExportResult;
pub(crate) use lab::LabResult;
pub(crate) use ladder::LadderResult;
pub(crate) use load::LoadResult;
pub(crate) use outputs::{Outputs, Page};
pub(crate) use page::PageResult;
pub(crate) use path::{OutputPath, Paths, distinct};
pub(crate) use render::{Render, in_form};
pub(crate) use run::{CodeArgs, RunOutput};
pub(crate) use trend::TrendResult;
pub(crate) use wake::{SheetResult, WakeResult, junit_has_verdict};
pub(crate) use what_if::WhatIfResult;
