//! `dwell doctor`: what can be observed on this host, each thing tried.

use crate::cli::{DoctorArgs, VERSION};
use crate::exit;
use crate::keep::ResultStore;
use crate::out::{Outputs, Page};

/// Tries everything and says what came of it; returns the exit status: that something does not work
/// is no failure.
pub(crate) fn doctor(args: &DoctorArgs, keeper: &mut ResultStore) -> anyhow::Result<u8> {
    let outputs = Outputs::open(&args.forms, Page::Stdout, None, &[])?;
    let (standing, attempts) = (observe::doctor::standing(), observe::doctor::attempts());
    let doctor = analyse::doctor::doctor(VERSION, observe::this_host(), &standing, &attempts);
    let failed = outputs.write(&doctor, &args.look).complain();
    keeper.offer(&doctor, None);
    Ok(if failed { exit::DWELL_FAILED } else { 0 })
}
