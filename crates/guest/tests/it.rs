//! Process 1 switches its machine off: as any other process it must do nothing.

use std::process::Command;

#[test]
fn it_does_nothing_where_it_is_not_process_1() {
    let output = Command::new(env!("CARGO_BIN_EXE_dwell-guest")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("process 1"));
}
