//! Types of a kernel that are not as they are described: each is refused in words, before the
//! loader sees it, or is a field less. None makes dwell panic, go on for ever, or read what is
//! elsewhere.

use super::btf::{HEADER, INTEGER, Names, STRUCT, TYPEDEF, kind, parts, wanted, word};
use super::kernels::{kernels, objects, relocate};
use super::sound::members;
use super::{attach, fields, types::Types};
use aya_obj::Object;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const KERNEL: &str = "6.12-cloud-amd64";

fn here() -> Vec<u8> {
    kernels().into_iter().find(|(name, _)| name == KERNEL).expect("it is kept").1
}

fn all() -> Names {
    wanted(attach::tracepoints(), &[])
}

fn own() -> &'static [u8] {
    static OBJECT: OnceLock<Vec<u8>> = OnceLock::new();
    OBJECT.get_or_init(|| objects(KERNEL).into_iter().next().expect("there are two").1)
}

fn of(types: &[u8]) -> Result<Types, String> {
    Types::of(types, own(), &all())
}

/// The number of a structure, and where its record begins in the whole.
fn structure(btf: &[u8], name: &str) -> (u32, usize) {
    let (records, strings) = parts(btf).unwrap();
    let named = records.iter().zip(1..).find(|(record, _)| {
        kind(record) == STRUCT
            && super::btf::name_at(strings, word(record, 0).unwrap()) == Some(name.as_bytes())
    });
    let id = named.expect("it is there").1;
    (id, HEADER as usize + records.at(id).unwrap())
}

/// Where a member of a structure is told: its name, its type and its place, a word each.
fn member(btf: &[u8], of: &str, name: &str) -> usize {
    let (id, at) = structure(btf, of);
    let (records, strings) = parts(btf).unwrap();
    let found = members(records.get(id).unwrap())
        .find(|member| super::btf::name_at(strings, member.name) == Some(name.as_bytes()));
    at + found.expect("it has it").name_at
}

fn put(btf: &mut [u8], at: usize, value: u32) {
    btf[at..at + 4].copy_from_slice(&value.to_ne_bytes());
}

/// One of these with another word at this place.
fn with(at: impl Fn(&[u8]) -> usize, value: u32) -> Vec<u8> {
    let mut types = here();
    let at = at(&types);
    put(&mut types, at, value);
    types
}

/// More types at the end. Their names are those of the rest.
fn longer(btf: &[u8], more: &[u8]) -> Vec<u8> {
    let types = word(btf, 12).unwrap() as usize;
    let end = HEADER as usize + types;
    let mut longer = [&btf[..end], more, &btf[end..]].concat();
    let total = (types + more.len()) as u32;
    put(&mut longer, 12, total);
    put(&mut longer, 16, total);
    longer
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

fn count(btf: &[u8]) -> u32 {
    parts(btf).unwrap().0.iter().count() as u32
}

#[test]
fn the_types_of_every_kept_kernel_can_be_and_have_the_sizes_that_programs_read() {
    for (kernel, types) in kernels() {
        for (object, elf) in objects(&kernel) {
            let own = fields::own_types(&elf).expect("it has types");
            let mut layouts = types.clone();
            let lacking = fields::fit(&mut layouts, own, &all()).expect("they are whole");
            assert_eq!(lacking.resized, Vec::<String>::new(), "{object} on {kernel}");
            assert_eq!(layouts, types, "{object} on {kernel}: on_cpu may have any size");
            let fitting = Types::of(&types, &elf, &all());
            assert!(fitting.is_ok(), "{object} on {kernel}: {:?}", fitting.err());
        }
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let types = here();
    let place = |of: &'static str, name: &'static str| move |btf: &[u8]| member(btf, of, name) + 8;
    let of_type = |of: &'static str, name: &'static str| move |btf: &[u8]| member(btf, of, name) + 4;
    let task = structure(&types, "task_struct").0;
    let size = word(&types, structure(&types, "task_struct").1 + 8).unwrap();
    let pid_at = word(&types, member(&types, "task_struct", "pid") + 8).unwrap();
    let outside = format!("pid is not within the {size} bytes of task_struct");
    let unknown = "or not what dwell knows as types";
    let after = count(&types) + 1;
    let deep: Vec<u8> = (1..=40).flat_map(|id| words(&[0, TYPEDEF << 24, after + id])).collect();
    let deep = [deep, words(&[0, INTEGER << 24, 4, 32])].concat();
    let circle = words(&[0, TYPEDEF << 24, after + 1, 0, TYPEDEF << 24, after]);
    let wrong_type = |more: &[u8]| {
        let mut types = longer(&types, more);
        let at = member(&types, "task_struct", "pid") + 4;
        put(&mut types, at, after);
        types
    };
    let named_outside = with(|btf| member(btf, "task_struct", "pid"), u32::MAX);
    for (types, told) in [
        (Vec::new(), "it is empty".to_owned()),
        (b"no types at all".to_vec(), unknown.to_owned()),
        (types[..types.len() / 2].to_vec(), unknown.to_owned()),
        (with(|_| 0, 7), unknown.to_owned()),
        (with(place("task_struct", "pid"), size * 8 - 8), outside.clone()),
        (with(place("task_struct", "pid"), 0xff_ffff), outside),
        (with(place("task_struct", "pid"), pid_at + 8), "pid and tgid of task_struct have one place".into()),
        (with(of_type("task_struct", "pid"), u32::MAX), unknown.to_owned()),
        (with(of_type("task_struct", "pid"), task), "task_struct is a part of itself".to_owned()),
        (with(of_type("task_struct", "pid"), 0), "there is no type 0".to_owned()),
        (named_outside, unknown.to_owned()),
        (wrong_type(&circle), "is a part of itself".to_owned()),
        (wrong_type(&deep), "is more than 32 types deep".to_owned()),
    ] {
        let refused = of(&types).err();
        assert!(refused.as_ref().is_some_and(|why| why.contains(&told)), "{told:?}: {refused:?}");
    }
}

/// The loader itself follows nameless parts without an end.
#[test]
fn a_structure_without_a_name_in_itself_is_refused() {
    let mut types = here();
    let after = count(&types) + 1;
    let itself = words(&[0, STRUCT << 24 | 1, 4, 0, after, 0]);
    types = longer(&types, &itself);
    let at = member(&types, "task_struct", "pid");
    put(&mut types, at, 0);
    put(&mut types, at + 4, after);
    assert!(of(&types).err().unwrap().ends_with("is a part of itself"));
}

/// A field that is shorter here would be read with what is next to it.
#[test]
fn a_field_of_another_size_is_one_that_the_kernel_does_not_have() {
    let types = here();
    let after = count(&types) + 1;
    let mut types = longer(&types, &words(&[0, INTEGER << 24, 2, 16]));
    let at = member(&types, "task_struct", "pid");
    put(&mut types, at + 4, after);
    let found = of(&types).unwrap();
    assert_eq!(found.lacking().next(), Some("task_struct.pid"));
    let mut layouts = types.clone();
    fields::fit(&mut layouts, fields::own_types(own()).unwrap(), &all()).unwrap();
    assert_eq!((word(&layouts, at), word(&types, at) == Some(0)), (Some(0), false));
    // The programs that read it are refused, each by itself, and not the whole object.
    assert_eq!(relocate(own(), &layouts), Ok(()));
}

#[test]
fn a_field_of_another_kind_or_none_is_missing() {
    let types = here();
    let pointer = {
        let (records, _) = parts(&types).unwrap();
        records.iter().zip(1..).find(|(record, _)| kind(record) == super::btf::POINTER).unwrap().1
    };
    let mut nameless = types.clone();
    let at = member(&types, "task_struct", "exit_code");
    put(&mut nameless, at, 0);
    assert!(of(&nameless).unwrap().lacking().any(|field| field == "task_struct.exit_code"));
    let mut pointing = types.clone();
    put(&mut pointing, at + 4, pointer);
    // It has the same size: the loader sees that a pointer is no number.
    assert_eq!(relocate(own(), &pointing), Ok(()));
}

#[test]
fn a_kernel_without_tracepoints_or_structures_has_none() {
    let (layouts, targets) = (here(), here());
    let mut without = layouts.clone();
    let typedefs: Vec<usize> = {
        let (records, _) = parts(&targets).unwrap();
        let of = records.iter().zip(1..).filter(|(record, _)| kind(record) == TYPEDEF);
        of.map(|(_, id)| HEADER as usize + records.at(id).unwrap()).collect()
    };
    typedefs.iter().for_each(|at| put(&mut without, *at, 0));
    let found = of(&without).unwrap();
    assert!(attach::tracepoints().all(|name| !found.has_tracepoint(name)));
    assert!(of(&here()).unwrap().has_tracepoint("sched_switch"));
    let nothing = [words(&[0x0001_eb9f, HEADER, 0, 0, 0, 1]), vec![0]].concat();
    assert!(of(&nothing).unwrap().lacking().count() > 20, "all structures");
}

/// Anything at all: it is refused, or the loader resolves it or says why not.
#[test]
fn nonsense_anywhere_neither_panics_nor_lasts() {
    let types = here();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let (mut refused, mut lacking) = (0, 0);
    for round in 0..150 {
        let mut wrong = types.clone();
        for _ in 0..=round % 4 {
            let at = (next() as usize % (wrong.len() - 4)) & !3;
            let value = match next() % 4 {
                0 => 0,
                1 => u32::MAX,
                2 => next() as u32 % count(&types),
                _ => word(&wrong, at).unwrap() ^ 1 << (next() % 32),
            };
            put(&mut wrong, at, value);
        }
        let begun = Instant::now();
        let done = catch_unwind(AssertUnwindSafe(|| match of(&wrong) {
            Err(why) => {
                assert!(why.len() < 300 && !why.is_empty(), "{why}");
                refused += 1;
            }
            Ok(types) => {
                // Whatever it says.
                let _ = Object::parse(own()).unwrap().relocate_btf(types.layouts());
                lacking += usize::from(types.lacking().count() > 1);
            }
        }));
        assert!(done.is_ok(), "round {round}");
        assert!(begun.elapsed() < Duration::from_secs(5), "round {round}: {:?}", begun.elapsed());
    }
    assert!(refused > 20 && lacking > 0, "{refused} refused, {lacking} lack a field");
}

/// Ten times as many types as any kernel has: 60 MB.
#[test]
fn a_large_kernel_is_read_in_a_moment() {
    let more: Vec<u8> = words(&[0, INTEGER << 24, 4, 32]).repeat(60 << 16);
    let types = longer(&here(), &more);
    assert!(types.len() > 60 << 20);
    let begun = Instant::now();
    assert!(of(&types).unwrap().has_tracepoint("sched_switch"));
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
}
