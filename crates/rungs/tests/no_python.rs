//! What the rungs of the language say where there is no Python. In a file of its own: it starts a
//! process, and the test in `kernel.rs` counts them.

use dwell_rungs::{Bench, Rung, all, machine};
use model::ladder::{LadderRequest, RungGroup, Unmeasured};

/// Where there is no Python, each of its rungs says so: seen in a process of its own, since `PATH`
/// belongs to a process.
#[test]
fn without_python_it_is_said() {
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "each_python_rung_is_absent", "--ignored"])
        .env("PATH", "/nonexistent")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "needs a PATH without Python, which the test above gives it"]
fn each_python_rung_is_absent() {
    let (machine, asked) = (machine(), LadderRequest::default());
    let rungs: Vec<Rung> =
        all(&asked).into_iter().filter(|rung| rung.about.group == RungGroup::Language).collect();
    assert_eq!(rungs.len(), 3);
    for rung in rungs {
        let found = (rung.measure)(&Bench::new(&machine, &asked, 60_000_000, 0.0, &|| false));
        assert_eq!(found, Err(Unmeasured::Absent("no python3 in PATH".into())), "{}", rung.about.id);
    }
}
