//! What the rows of the store have in common.

use model::recording::Host;
use store::results::NewResult;
use sys::clock::unix_s;

/// The fields that all rows have.
pub(super) fn row(verb: &str, host: &Host, schema: &str, json: String) -> NewResult {
    NewResult {
        verb: verb.to_owned(),
        host: host.name.clone(),
        machine: this_machine(),
        kernel: host.kernel.clone(),
        at_s: unix_s(),
        schema: schema.to_owned(),
        dwell: env!("CARGO_PKG_VERSION").to_owned(),
        json: json.into_bytes(),
        ..NewResult::default()
    }
}

/// The number of this machine.
pub(crate) fn this_machine() -> String {
    observe::machine_number()
}

/// Words as typed in a shell.
pub(super) fn in_shell<'a>(words: impl IntoIterator<Item = &'a String> + Clone) -> String {
    let plain = words.clone().into_iter().map(String::as_str);
    // A word with a null byte cannot be typed.
    shlex::try_join(plain).unwrap_or_else(|_| words.into_iter().cloned().collect::<Vec<_>>().join(" "))
}
