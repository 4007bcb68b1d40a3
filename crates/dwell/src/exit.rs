//! Exit statuses: the program's own if it ran, and those of timeout(1) if not.

use crate::output;
use model::recording::Ending;
use std::process::ExitCode;

/// dwell itself failed, or its command line is wrong.
pub(crate) const DWELL_FAILED: u8 = 125;

/// The exit status of the program: its own, or 128 plus the signal number.
pub(crate) fn of_program(ending: Ending) -> u8 {
    match ending {
        Ending::Code(code) => u8::try_from(code).unwrap_or(DWELL_FAILED),
        Ending::Signal(signal) => of_signal(signal),
        Ending::Window(_) => 0,
    }
}

/// The exit status after a signal.
pub(crate) fn of_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(DWELL_FAILED)
}

/// Prints the error; returns its exit status.
pub(crate) fn failure(error: &anyhow::Error) -> ExitCode {
    output::complain(&format!("{error:#}"));
    let observed = error.downcast_ref::<observe::Error>().map(observe::Error::exit_code);
    let timed = error.downcast_ref::<timings::Error>().map(timings::Error::exit_code);
    let status = observed.or(timed).unwrap_or(DWELL_FAILED);
    ExitCode::from(status)
}

/// Prints help, or the error in the command line. clap would exit with 2, which could be the
/// program's status.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    // A failure to print has nowhere to go.
    let _ = error.print();
    ExitCode::from(if error.use_stderr() { DWELL_FAILED } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_is_the_programs() {
        assert_eq!(of_program(Ending::Code(0)), 0);
        assert_eq!(of_program(Ending::Code(255)), 255);
        assert_eq!(of_program(Ending::Signal(9)), 137);
        assert_eq!(of_program(Ending::Signal(64)), 192);
        assert_eq!(of_program(Ending::Code(-1)), DWELL_FAILED);
    }
}
