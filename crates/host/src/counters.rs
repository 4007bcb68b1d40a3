//! How the counters of this machine's CPUs are asked for: by perf's general numbers, by the events
//! that the kernel names for a unit below `/sys/bus/event_source/devices`, or by the encodings of
//! the vendor's manual where the kernel names none.
//!
//! What is general in perf is not always the same event: `cache-misses` is the last level on Intel,
//! the second on AMD and the first on Arm.

use crate::{Roots, fields, optional, text};
use model::counters::Counter;
use model::{CpuList, Seen};
use std::fs;
use std::path::Path;

/// `PERF_TYPE_HARDWARE` and `PERF_TYPE_RAW`, of perf_event_open(2).
const HARDWARE: u32 = 0;
const RAW: u32 = 4;

/// The unit of CPUs of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterUnit {
    /// Its name.
    pub name: String,
    /// Its CPUs; none where it is that of all.
    pub cpus: Option<CpuList>,
    /// Slots of the pipeline in each cycle, where they are not counted.
    pub slots_per_cycle: Seen<u32>,
    /// Each counter, and how it is asked for.
    pub of: Vec<(Counter, Seen<Encoding>)>,
}

/// The fields `type`, `config`, `config1` and `config2` of perf_event_attr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding {
    /// The unit.
    pub kind: u32,
    /// What it counts.
    pub config: [u64; 3],
}

/// The units of a machine's CPUs; empty where it has no counters that the kernel knows.
pub fn units(roots: Roots<'_>) -> Vec<CounterUnit> {
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let devices = roots.sys.join("bus/event_source/devices");
    let entries = fs::read_dir(&devices).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    // As perf tells them from those of the rest of the machine, which have a `cpumask`.
    names.retain(|name| name == "cpu" || devices.join(name).join("cpus").is_file());
    names.into_iter().filter_map(|name| unit(&devices.join(&name), name, &cpuinfo)).collect()
}

fn unit(directory: &Path, name: String, cpuinfo: &str) -> Option<CounterUnit> {
    let kind: u32 = text(&directory.join("type")).ok()?.parse().ok()?;
    let cpus = text(&directory.join("cpus")).ok().and_then(|list| list.parse().ok());
    // Where CPUs differ, the general events have the unit beside their numbers.
    let of_unit = if name.starts_with("cpu_") { u64::from(kind) << 32 } else { 0 };
    let general = |number: u64| Seen::Value(Encoding { kind: HARDWARE, config: [of_unit | number, 0, 0] });
    let named = |event: &str| named(directory, kind, event);
    let raw = |event: u64, mask: u64| {
        let config = event & 0xff | mask << 8 | (event >> 8) << 32;
        let kind = if of_unit == 0 { RAW } else { kind };
        Seen::Value(Encoding { kind, config: [config, 0, 0] })
    };
    let field = |name: &str| fields::cpuinfo(cpuinfo, name);
    let flag =
        |wanted: &str| field("flags").is_some_and(|all| all.split_whitespace().any(|one| one == wanted));
    let family = field("cpu family").and_then(|family| family.parse::<u32>().ok());
    let no_slots = || Seen::unseen("this processor has no event for stalled slots that can be sampled");
    let not_last = || Seen::unseen("how this processor counts last-level misses is unknown");
    let mut slots_per_cycle = Seen::Absent;
    let (misses, [slots, front, back]) = match field("vendor_id") {
        Some("GenuineIntel") => {
            // Metrics of the fixed counter can be read and not sampled. The events behind them are
            // the same on all that have it (Intel's perfmon data, Ice Lake to Lunar Lake:
            // IDQ_BUBBLES.CORE, TOPDOWN.BACKEND_BOUND_SLOTS).
            let metrics = matches!(named("topdown-be-bound"), Seen::Value(one) if one.config[0] & 0xff == 0);
            let slots = match metrics {
                true => [named("slots"), raw(0x9c, 0x01), raw(0xa4, 0x02)],
                false => [no_slots(), no_slots(), no_slots()],
            };
            (general(3), slots)
        }
        // Demand fills from memory of this node or another: the last level is not of one core
        // (AMD's PPR for families 19h and 1Ah, PMCx043).
        Some("AuthenticAMD") if matches!(family, Some(0x19 | 0x1a)) => {
            // From Zen 4 on: PMCx1A0. Six slots a cycle, with Zen 5 eight.
            let slots = match flag("perfmon_v2") {
                true => {
                    slots_per_cycle = Seen::Value(if family == Some(0x19) { 6 } else { 8 });
                    [Seen::Absent, raw(0x1a0, 0x01), raw(0x1a0, 0x1e)]
                }
                false => [no_slots(), no_slots(), no_slots()],
            };
            (raw(0x43, 0x48), slots)
        }
        None => {
            slots_per_cycle = match optional(&directory.join("caps/slots")).value().and_then(|s| number(s)) {
                Some(slots @ 1..=64) => Seen::Value(slots as u32),
                _ => Seen::unseen("the kernel does not state the slots per cycle of this processor"),
            };
            let slots = [Seen::Absent, named("stall_slot_frontend"), named("stall_slot_backend")];
            (named("ll_cache_miss_rd"), slots)
        }
        Some(_) => (not_last(), [no_slots(), no_slots(), no_slots()]),
    };
    let of = vec![
        (Counter::Cycles, general(0)),
        (Counter::Instructions, general(1)),
        (Counter::BranchMisses, general(5)),
        (Counter::LastLevelMisses, misses),
        (Counter::Slots, slots),
        (Counter::FrontEndSlots, front),
        (Counter::BackEndSlots, back),
    ];
    Some(CounterUnit { name, cpus, slots_per_cycle, of })
}

/// An event by its name: `events/NAME` says `event=0x3f,umask=0x1`, and `format/event` where that
/// goes: `config:0-7,32-35`.
fn named(directory: &Path, kind: u32, event: &str) -> Seen<Encoding> {
    let Ok(terms) = text(&directory.join("events").join(event)) else {
        return Seen::unseen(format!("the kernel names no event {event} here"));
    };
    let mut config = [0_u64; 3];
    for term in terms.split(',') {
        let (name, value) = term.split_once('=').unwrap_or((term, "1"));
        let placed = (|| {
            let format = text(&directory.join("format").join(name.trim())).ok()?;
            place(&format, number(value.trim())?, &mut config)
        })();
        if placed.is_none() {
            return Seen::unseen(format!("its event {event} is {terms}, which dwell does not understand"));
        }
    }
    Seen::Value(Encoding { kind, config })
}

/// Puts the bits of a value where a format says. None where that makes no sense, or they do not
/// fit.
fn place(format: &str, mut value: u64, config: &mut [u64; 3]) -> Option<()> {
    let (field, ranges) = format.trim().split_once(':')?;
    let field = match field {
        "config" => 0,
        "config1" => 1,
        "config2" => 2,
        _ => return None,
    };
    for range in ranges.split(',') {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
        if from > to || to > 63 {
            return None;
        }
        let mask = u64::MAX >> (63 - (to - from));
        config[field] |= (value & mask) << from;
        value = value.checked_shr(to - from + 1).unwrap_or(0);
    }
    (value == 0).then_some(())
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine of such files.
    fn machine(cpuinfo: &str, files: &[(&str, &str)]) -> Vec<CounterUnit> {
        let top = tempfile::tempdir().unwrap();
        let devices = top.path().join("sys/bus/event_source/devices");
        fs::create_dir_all(top.path().join("proc")).unwrap();
        fs::write(top.path().join("proc/cpuinfo"), cpuinfo).unwrap();
        for (name, text) in files {
            let path = devices.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        units(Roots { proc: &top.path().join("proc"), sys: &top.path().join("sys") })
    }

    fn of(unit: &CounterUnit, counter: Counter) -> Option<(u32, u64)> {
        let (_, encoding) = unit.of.iter().find(|(one, _)| *one == counter).unwrap();
        encoding.value().map(|one| (one.kind, one.config[0]))
    }

    #[test]
    fn a_hybrid_has_two_units_whose_general_events_have_the_unit_in_them() {
        let units = machine(
            "vendor_id\t: GenuineIntel\ncpu family\t: 6\n",
            &[
                ("cpu_core/type", "4"),
                ("cpu_core/cpus", "0-3"),
                ("cpu_core/events/topdown-be-bound", "event=0x00,umask=0x83"),
                ("cpu_core/events/slots", "event=0x00,umask=0x4"),
                ("cpu_core/format/event", "config:0-7"),
                ("cpu_core/format/umask", "config:8-15"),
                ("cpu_atom/type", "10"),
                ("cpu_atom/cpus", "4-7"),
                ("cpu_atom/events/topdown-be-bound", "event=0xa4"),
                ("cpu_atom/format/event", "config:0-7"),
                ("uncore_imc/type", "20"),
                ("uncore_imc/cpumask", "0"),
            ],
        );
        assert_eq!(units.iter().map(|unit| &*unit.name).collect::<Vec<_>>(), ["cpu_atom", "cpu_core"]);
        let (atom, core) = (&units[0], &units[1]);
        assert_eq!(core.cpus.as_ref().unwrap().as_slice(), [0, 1, 2, 3]);
        assert_eq!(of(core, Counter::Instructions), Some((HARDWARE, 4 << 32 | 1)));
        assert_eq!(of(atom, Counter::LastLevelMisses), Some((HARDWARE, 10 << 32 | 3)));
        assert_eq!(of(core, Counter::Slots), Some((4, 0x400)));
        assert_eq!(of(core, Counter::BackEndSlots), Some((4, 0x2a4)));
        assert_eq!(of(atom, Counter::BackEndSlots), None, "its slots a cycle are not known");
    }

    #[test]
    fn amd_has_stalled_slots_from_zen_4_on() {
        let zen = |family: u32, flags: &str| {
            let cpuinfo =
                format!("vendor_id\t: AuthenticAMD\ncpu family\t: {family}\nflags\t\t: fpu {flags}\n");
            machine(&cpuinfo, &[("cpu/type", "4")]).remove(0)
        };
        let (three, four, five) = (zen(25, "perfctr_core"), zen(25, "perfmon_v2"), zen(26, "perfmon_v2"));
        assert_eq!(of(&three, Counter::BackEndSlots), None);
        assert_eq!(of(&four, Counter::BackEndSlots), Some((RAW, 1 << 32 | 0x1ea0)));
        assert_eq!((four.slots_per_cycle, five.slots_per_cycle), (Seen::Value(6), Seen::Value(8)));
        assert_eq!(of(&three, Counter::LastLevelMisses), Some((RAW, 0x4843)), "not the second level's");
        assert_eq!(of(&zen(23, ""), Counter::LastLevelMisses), None);
    }

    #[test]
    fn arm_has_what_the_kernel_names() {
        let files = [
            ("armv8_pmuv3_0/type", "8"),
            ("armv8_pmuv3_0/cpus", "0-1"),
            ("armv8_pmuv3_0/events/stall_slot_backend", "event=0x003d"),
            ("armv8_pmuv3_0/format/event", "config:0-15"),
            ("armv8_pmuv3_0/caps/slots", "0x00000008"),
        ];
        let unit = machine("processor\t: 0\nCPU part\t: 0xd4f\n", &files).remove(0);
        assert_eq!(of(&unit, Counter::BackEndSlots), Some((8, 0x3d)));
        assert_eq!((of(&unit, Counter::FrontEndSlots), of(&unit, Counter::LastLevelMisses)), (None, None));
        assert_eq!(unit.slots_per_cycle, Seen::Value(8));
        assert!(machine("processor\t: 0\n", &[]).is_empty());
    }

    #[test]
    fn a_value_goes_to_the_bits_of_its_format_or_nowhere() {
        let placed = |format: &str, value: u64| {
            let mut config = [0; 3];
            place(format, value, &mut config).map(|()| config)
        };
        assert_eq!(placed("config:0-7,32-35", 0x1a0), Some([1 << 32 | 0xa0, 0, 0]));
        assert_eq!(placed("config1:63", 1), Some([0, 1 << 63, 0]));
        assert_eq!(placed("config2:0-63", u64::MAX), Some([0, 0, u64::MAX]));
        for bad in ["config:0-7", "config:9-3", "config:0-64", "config", "config9:0-15", "config:a-b", ""] {
            assert_eq!(placed(bad, 0x100), None, "{bad}");
        }
        assert_eq!(
            (number("0x3d"), number("12"), number("0xx"), number("")),
            (Some(0x3d), Some(12), None, None)
        );
    }
}
