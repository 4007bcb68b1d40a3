//! The JSON of jitterdebugger, of all its versions.
//!
//! Its histograms end at 1,000 us; later wake-ups are in `count` only.

use super::{Error, Thread, comparable, number, object, text_of, whole_microseconds};
use crate::wake::comparable::setting;
use model::compare::wake::{Comparable, MeasurementOrigin};
use serde_json::Value;

const UNIT_NS: u64 = 1_000;

pub(super) fn import(value: &Value) -> Result<Comparable, Error> {
    let none = || Error::Whole("\"cpu\" is not an object".to_owned());
    let mut threads = Vec::new();
    for (key, of) in value.get("cpu").and_then(Value::as_object).ok_or_else(none)? {
        let name = format!("CPU {key}");
        let cpu = key.parse().map_err(|_| Error::Whole(format!("{key:?} is not a CPU number")))?;
        threads.push(Thread {
            cpu: Some(cpu),
            cycles: number(of, "count", &name)?,
            bins: object(of.get("histogram"), UNIT_NS, &name)?,
            min_ns: Some(number(of, "min", &name)?.saturating_mul(UNIT_NS)),
            avg_ns: of.get("avg").and_then(Value::as_f64).map(|avg| avg * UNIT_NS as f64),
            max_ns: Some(number(of, "max", &name)?.saturating_mul(UNIT_NS)),
        });
    }
    threads.sort_by_key(|thread| thread.cpu);
    let cap_ns =
        threads.iter().filter_map(|thread| thread.bins.last()).map(|bin| bin.to_ns).max().unwrap_or(0);
    let sysinfo = value.get("sysinfo").unwrap_or(&Value::Null);
    let text = |keys: &[&str]| text_of(sysinfo, keys).unwrap_or_default().to_owned();
    let origin = MeasurementOrigin {
        host: text(&["nodename"]),
        kernel: text(&["release"]),
        started_at: String::new(),
        tool: "jitterdebugger".to_owned(),
    };
    let mut of_machine = Vec::new();
    for (what, value) in
        [("host", &origin.host), ("kernel", &origin.kernel), ("architecture", &text(&["machine"]))]
    {
        if !value.is_empty() {
            of_machine.push(setting(what, value.as_str()));
        }
    }
    comparable(origin, (of_machine, Vec::new()), threads, cap_ns, vec![whole_microseconds()])
}
