//! Time that passes in one thread alone.

use crate::clock::{self, MS};
use crate::{Failure, Program, Truth, number, process};

pub(super) static PROGRAMS: &[Program] = &[
    Program { name: "nothing", what: "starts and ends", truth: "none: prints nothing", run: |_| Ok(None) },
    Program { name: "sleep", what: "sleeps [MS=200]", truth: "ns.slept", run: sleep },
    Program { name: "spin", what: "uses the CPU for [MS=300] of its own time", truth: "ns.spun", run: spin },
];

fn sleep(args: &[String]) -> Result<Option<Truth>, Failure> {
    let slept = clock::sleep(number(args, 0, 200)? * MS);
    Ok(Some(Truth::new().spent("slept", slept).id("main", process::tid())))
}

fn spin(args: &[String]) -> Result<Option<Truth>, Failure> {
    let spun = clock::spin(number(args, 0, 300)? * MS);
    Ok(Some(Truth::new().spent("spun", spun).id("main", process::tid())))
}
