//! Parses loads as the command line has them: `sched:groups=10,message=128,transport=pipes`. Pure,
//! except that a relative directory is resolved against the working directory.

use model::units;
use model::wake::load::{Load, Transport, Workers};
use std::path;

/// The names of loads.
pub const NAMES: [&str; 6] = ["sched", "memory", "disk", "network", "cpu", "irq"];

/// The most threads, groups or pairs: more is a typing error.
const THREADS_MAX: u32 = 1024;
/// The least memory per thread, so that it has pages to copy from and to.
pub(crate) const BYTES_PER_THREAD: u64 = 4 << 20;
/// hackbench's own topology.
const GROUPS: u32 = 10;
const PAIRS: u32 = 20;
const MESSAGE_BYTES: u32 = 100;

/// Parses a specification; `cpus` is the number of CPUs: some loads have a thread for each.
///
/// # Errors
/// What is wrong and what is expected, as a sentence without a full stop.
pub fn parse(text: &str, cpus: u32) -> Result<Load, String> {
    let (name, mut rest) = text.split_once(':').unwrap_or((text, ""));
    let mut load = default(name, cpus)
        .ok_or_else(|| format!("unknown load {name:?}\ntry: one of {}", NAMES.join(", ")))?;
    let mut seen = Vec::new();
    while !rest.is_empty() {
        // A directory may have commas in its name: it extends to the end.
        let whole = rest.starts_with("dir=");
        let (pair, after) = rest.split_once(',').filter(|_| !whole).unwrap_or((rest, ""));
        rest = after;
        if pair.is_empty() {
            continue;
        }
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if seen.contains(&key) {
            return Err(format!("{key} is given twice"));
        }
        seen.push(key);
        set(&mut load, key, value).map_err(|error| match error {
            ValueError::Key => {
                let keys = default_of(&load, cpus).spec();
                format!("{name} has no option {key:?}\ntry: {keys}")
            }
            ValueError::Value(expected) => format!("{key}={value}: expected {expected}"),
        })?;
    }
    check(&load)?;
    Ok(load)
}

enum ValueError {
    /// The load has no such key.
    Key,
    /// The value is not of this form.
    Value(&'static str),
}

fn default(name: &str, cpus: u32) -> Option<Load> {
    let threads = cpus.clamp(1, THREADS_MAX);
    Some(match name {
        "sched" => Load::Sched {
            groups: GROUPS,
            pairs: PAIRS,
            message_bytes: MESSAGE_BYTES,
            transport: Transport::default(),
            workers: Workers::default(),
        },
        "memory" => Load::Memory { threads, bytes: (256 << 20).max(u64::from(threads) * BYTES_PER_THREAD) },
        "disk" => Load::Disk { threads: 1, bytes: 16 << 20, dir: None },
        "network" => Load::Network { threads: 1, message_bytes: 1000 },
        "cpu" => Load::Cpu { threads },
        "irq" => Load::Irq { threads, rate_hz: 1000 },
        _ => return None,
    })
}

fn default_of(load: &Load, cpus: u32) -> Load {
    default(load.kind(), cpus).unwrap_or_else(|| load.clone())
}

fn set(load: &mut Load, key: &str, value: &str) -> Result<(), ValueError> {
    match (load, key) {
        (Load::Sched { groups, .. }, "groups") => *groups = number(value, 1, THREADS_MAX, "1 to 1024")?,
        (Load::Sched { pairs, .. }, "pairs") => *pairs = number(value, 1, THREADS_MAX, "1 to 1024")?,
        (Load::Sched { message_bytes, .. }, "message") => *message_bytes = message(value, 1)?,
        (Load::Sched { transport, .. }, "transport") => {
            *transport =
                one_of(value, [Transport::Sockets, Transport::Pipes], Transport::name, "sockets or pipes")?;
        }
        (Load::Sched { workers, .. }, "workers") => {
            *workers =
                one_of(value, [Workers::Processes, Workers::Threads], Workers::name, "processes or threads")?;
        }
        (
            Load::Memory { threads, .. }
            | Load::Disk { threads, .. }
            | Load::Network { threads, .. }
            | Load::Cpu { threads }
            | Load::Irq { threads, .. },
            "threads",
        ) => *threads = number(value, 1, THREADS_MAX, "1 to 1024")?,
        (Load::Memory { bytes, .. } | Load::Disk { bytes, .. }, "size") => {
            *bytes = units::bytes(value).map_err(|_| ValueError::Value("a size, like 256MiB"))?;
        }
        (Load::Disk { dir, .. }, "dir") => {
            // Absolute, since it may be used from another directory. An empty one is an error.
            let place =
                path::absolute(value).ok().and_then(|place| place.into_os_string().into_string().ok());
            *dir = Some(place.ok_or(ValueError::Value("a directory"))?);
        }
        (Load::Network { message_bytes, .. }, "message") => *message_bytes = message(value, 1)?,
        (Load::Irq { rate_hz, .. }, "rate") => {
            *rate_hz = number(value, 1, 100_000, "1 to 100k per second")?;
        }
        _ => return Err(ValueError::Key),
    }
    Ok(())
}

/// `20`, `1k`.
fn number(text: &str, least: u32, most: u32, expected: &'static str) -> Result<u32, ValueError> {
    let number = units::count(text).ok().and_then(|number| u32::try_from(number).ok());
    number.filter(|number| (least..=most).contains(number)).ok_or(ValueError::Value(expected))
}

fn message(text: &str, least: u64) -> Result<u32, ValueError> {
    let size = units::bytes(text).ok().filter(|size| (least..=1 << 20).contains(size));
    size.and_then(|size| u32::try_from(size).ok()).ok_or(ValueError::Value("a size of 1 byte to 1MiB"))
}

fn one_of<T: Copy>(
    text: &str,
    all: [T; 2],
    name: fn(T) -> &'static str,
    expected: &'static str,
) -> Result<T, ValueError> {
    all.into_iter().find(|one| name(*one) == text).ok_or(ValueError::Value(expected))
}

/// Checks values together. Sheets use it as well: their loads are not written as specifications.
///
/// # Errors
/// What is wrong, as a sentence without a full stop.
pub fn check(load: &Load) -> Result<(), String> {
    let within = |what: &str, value: u64, least: u64, most: u64| {
        if (least..=most).contains(&value) {
            Ok(())
        } else {
            Err(format!("{} with {value} {what}: expected {least} to {most}", load.kind()))
        }
    };
    let threads = |threads: u32| within("threads", threads.into(), 1, THREADS_MAX.into());
    match load {
        Load::Sched { groups, pairs, message_bytes, .. } => {
            within("groups", (*groups).into(), 1, THREADS_MAX.into())?;
            within("pairs", (*pairs).into(), 1, THREADS_MAX.into())?;
            within("bytes per message", (*message_bytes).into(), 1, 1 << 20)?;
            within("senders and receivers", u64::from(*groups) * u64::from(*pairs) * 2, 2, 16 * 1024)
        }
        Load::Memory { threads: n, bytes } => {
            threads(*n)?;
            let least = u64::from(*n) * BYTES_PER_THREAD;
            if *bytes < least {
                let mib = least >> 20;
                return Err(format!("memory with {n} threads needs {mib} MiB\ntry: size={mib}MiB"));
            }
            within("bytes", *bytes, least, 1 << 46)
        }
        Load::Disk { threads: n, bytes, dir } => {
            threads(*n)?;
            if let Some(dir) = dir.as_ref().filter(|dir| !dir.starts_with('/')) {
                return Err(format!("disk in {dir:?}: expected an absolute directory"));
            }
            within("bytes per file", *bytes, crate::disk::PIECE_BYTES as u64, 1 << 40)
        }
        Load::Network { threads: n, message_bytes } => {
            threads(*n)?;
            within("bytes per message", (*message_bytes).into(), 1, 1 << 20)
        }
        Load::Cpu { threads: n } => threads(*n),
        Load::Irq { threads: n, rate_hz } => {
            threads(*n)?;
            within("timers per second", (*rate_hz).into(), 1, 100_000)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_name_alone_has_defaults() {
        assert_eq!(
            parse("sched", 4),
            Ok(Load::Sched {
                groups: 10,
                pairs: 20,
                message_bytes: 100,
                transport: Transport::Sockets,
                workers: Workers::Processes
            })
        );
        assert_eq!(parse("memory", 4), Ok(Load::Memory { threads: 4, bytes: 256 << 20 }));
        assert_eq!(parse("irq:", 4), Ok(Load::Irq { threads: 4, rate_hz: 1000 }));
        for name in NAMES {
            for cpus in [0, 1, 300, u32::MAX] {
                assert!(parse(name, cpus).is_ok(), "{name} {cpus}");
            }
        }
    }

    #[test]
    fn keys_have_values() {
        assert_eq!(
            parse("sched:groups=2,pairs=3,message=128,transport=pipes,workers=threads", 1),
            Ok(Load::Sched {
                groups: 2,
                pairs: 3,
                message_bytes: 128,
                transport: Transport::Pipes,
                workers: Workers::Threads
            })
        );
        assert_eq!(
            parse("disk:threads=4,size=16MiB,dir=/x y", 1),
            Ok(Load::Disk { threads: 4, bytes: 16 << 20, dir: Some("/x y".into()) })
        );
        let dir = |text| match parse(text, 1) {
            Ok(Load::Disk { dir: Some(dir), threads: 1, .. }) => dir,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(dir("disk:dir=/x,threads=4"), "/x,threads=4");
        let here = std::env::current_dir().unwrap();
        assert_eq!(std::path::Path::new(&dir("disk:threads=1,dir=x,y")), here.join("x,y"));
        assert_eq!(parse("irq:rate=5k", 2), Ok(Load::Irq { threads: 2, rate_hz: 5000 }));
    }

    #[test]
    fn errors_have_the_expected_form() {
        for (text, said) in [
            ("", "unknown load \"\""),
            ("hackbench", "one of sched, memory"),
            ("cpu:rate=1", "cpu has no option \"rate\"\ntry: cpu:threads=2"),
            ("cpu:threads=0", "1 to 1024"),
            ("cpu:threads", "1 to 1024"),
            ("cpu:threads=1,threads=2", "twice"),
            ("sched:transport=pigeons", "sockets or pipes"),
            ("sched:groups=1000,pairs=1000", "senders and receivers"),
            ("sched:message=0", "1 byte to 1MiB"),
            ("memory:size=lots", "like 256MiB"),
            ("memory:threads=8,size=1M", "size=32MiB"),
            ("disk:dir=", "a directory"),
            ("disk:size=1", "bytes per file"),
            ("irq:rate=1000k", "100k"),
        ] {
            let error = parse(text, 2).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn a_directory_of_a_sheet_is_one_wherever_it_is_read() {
        for (dir, right) in [("/x", true), ("x", false), ("", false)] {
            let load = Load::Disk { threads: 1, bytes: 1 << 20, dir: Some(dir.to_owned()) };
            assert_eq!(check(&load).is_ok(), right, "{dir:?}");
        }
    }

    proptest! {
        #[test]
        fn a_load_is_read_back_as_it_was_written(
            groups in 1_u32..100, pairs in 1_u32..50, message in 1_u32..=1 << 20, threads in 1_u32..=1024,
            extra in 0_u64..1 << 40, rate_hz in 1_u32..=100_000, pipes: bool, dir in "[a-z,=: é]*",
        ) {
            let transport = if pipes { Transport::Pipes } else { Transport::Sockets };
            let workers = if pipes { Workers::Threads } else { Workers::Processes };
            for load in [
                Load::Sched { groups, pairs, message_bytes: message, transport, workers },
                Load::Memory { threads, bytes: u64::from(threads) * BYTES_PER_THREAD + extra },
                Load::Disk { threads, bytes: (1 << 20) + extra / 2, dir: pipes.then(|| format!("/a{dir}b")) },
                Load::Network { threads, message_bytes: message },
                Load::Cpu { threads },
                Load::Irq { threads, rate_hz },
            ] {
                prop_assert_eq!(parse(&load.spec(), 1), Ok(load));
            }
        }

        #[test]
        fn anything_is_read_or_refused(text in ".*", name in 0_usize..6) {
            let _ = parse(&text, 2);
            let _ = parse(&format!("{}:{text}", NAMES[name]), 2);
        }
    }
}
