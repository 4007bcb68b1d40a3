//! Exit statuses: the program's own where it ran, and those of timeout(1) where it did not.

use crate::output;
use model::recording::Ending;
use std::process::ExitCode;

/// dwell itself failed, or was called wrongly.
pub(crate) const DWELL_FAILED: u8 = 125;

/// The status that says how the program ended: its own, or 128 and the signal.
pub(crate) fn of_program(ending: Ending) -> u8 {
    match ending {
        Ending::Code(code) => u8::try_from(code).unwrap_or(DWELL_FAILED),
        Ending::Signal(signal) => of_signal(signal),
        Ending::Window(_) => 0,
    }
}

/// The status of what a signal ended.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(DWELL_FAILED)
}

/// Prints what stopped dwell, and gives the status for it.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    output::complain(&format!("{error:#}"));
    let status = error.downcast_ref::<observe::Error>().map_or(DWELL_FAILED, observe::Error::exit_code);
    ExitCode::from(status)
}

/// Prints help, or what is wrong with the command line. clap would end with 2, which looks like the program's.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell when this cannot be printed.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { DWELL_FAILED } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_the_programs_own() {
        assert_eq!(of_program(Ending::Code(0)), 0);
        assert_eq!(of_program(Ending::Code(255)), 255);
        assert_eq!(of_program(Ending::Signal(9)), 137);
        assert_eq!(of_program(Ending::Signal(64)), 192);
        assert_eq!(of_program(Ending::Code(-1)), DWELL_FAILED);
    }
}
