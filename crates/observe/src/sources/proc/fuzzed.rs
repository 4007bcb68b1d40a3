//! What the fuzzer runs on the files of `/proc/PID`.

use super::{objects, parse};

/// A file of `/proc/PID`, as each kind that is parsed, and what a descriptor's link says.
pub(crate) fn texts(bytes: &[u8]) {
    let _ = (parse::stat(bytes), parse::schedstat(bytes), parse::syscall(bytes));
    let text = String::from_utf8_lossy(bytes);
    let _ = parse::ids(bytes).count() + parse::internet(&text, 6).count() + parse::unix(bytes).count();
    objects::link(bytes);
}
