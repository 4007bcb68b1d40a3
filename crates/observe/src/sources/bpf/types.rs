//! The running kernel's BTF, reduced to the types that the kernel half needs.
//!
//! aya keeps a value for each of the kernel's 130,000 types and searches all of them by name for
//! every structure and every tracepoint. A few hundred matter: `btf.rs` copies those into two small
//! images, which aya parses: the layouts of structures, densely, and what programs are attached to,
//! under the kernel's own numbers. `sys` has where it is read.

use super::btf::{Names, handler_of, parts, strings, wanted};
use super::fields::{self, Lacking};
use super::refusal::BpfRefusal;
use super::sound::Sizes;
use aya::{Btf, Endianness};
use sys::kernel::btf::KernelBtf;

/// What of the kernel's types is needed.
pub(crate) struct Types {
    layouts: Btf,
    targets: Btf,
    /// The strings of `targets`.
    names: Vec<u8>,
    lacking: Lacking,
}

impl Types {
    /// Reads the types that this object and these tracepoints need, and these functions (attach
    /// targets) and other types.
    ///
    /// # Errors
    /// The kernel has no BTF, or one that cannot be used.
    pub(crate) fn read<'a>(
        object: &[u8],
        tracepoints: impl Iterator<Item = &'a str>,
        others: &[&str],
    ) -> Result<Self, BpfRefusal> {
        let whole = KernelBtf::read().map_err(BpfRefusal::NoTypes)?;
        Self::of(&whole, object, &wanted(tracepoints, others)).map_err(BpfRefusal::Types)
    }

    /// The same of these types of a kernel.
    pub(super) fn of(whole: &[u8], object: &[u8], wanted: &Names) -> Result<Self, String> {
        let (mut layouts, targets) = reduced(whole, wanted)?;
        let own = fields::own_types(object).ok_or("the BPF object describes no types")?;
        let lacking = fields::fit(&mut layouts, own, wanted).ok_or("its structures cannot be read")?;
        let parse = |btf: &[u8]| {
            Btf::parse(btf, Endianness::default()).map_err(|error| super::refusal::root_cause(&error))
        };
        let names = strings(&targets).to_vec();
        Ok(Self { layouts: parse(&layouts)?, targets: parse(&targets)?, names, lacking })
    }

    /// Whether the kernel has this tracepoint, which was asked for.
    pub(crate) fn has_tracepoint(&self, name: &str) -> bool {
        let handler = handler_of(name);
        self.names.split(|byte| *byte == 0).any(|name| name == handler.as_bytes())
    }

    /// Layouts of structures, for the loader. The numbers of types are not the kernel's.
    pub(crate) fn layouts(&self) -> &Btf {
        &self.layouts
    }

    /// The fields that programs read and this kernel does not have, or has in another size. Some
    /// are asked for before they are read.
    pub(crate) fn lacking(&self) -> impl Iterator<Item = &str> {
        self.lacking.resized.iter().chain(&self.lacking.missing).map(String::as_str)
    }

    /// What programs are attached to, under the kernel's numbers.
    pub(crate) fn targets(&self) -> &Btf {
        &self.targets
    }
}

/// The images of layouts and of attach targets.
///
/// # Errors
/// In a clause: the BTF is not whole, has kinds of types that are not known here, or says what
/// cannot be (`sound.rs`).
fn reduced(btf: &[u8], wanted: &Names) -> Result<(Vec<u8>, Vec<u8>), String> {
    let images = || {
        let (records, strings) = parts(btf)?;
        let named = records.named(wanted, strings)?;
        Some((records.image(&named, strings)?.bytes(), records.targets(&named, strings)?))
    };
    let (layouts, targets) = images().ok_or_else(|| match btf.len() {
        0 => "it is empty".to_owned(),
        bytes => format!("its {bytes} bytes are cut short, or not what dwell knows as types"),
    })?;
    if let Some((records, strings)) = parts(&layouts) {
        let mut sizes = Sizes::of(&records, strings);
        (1..).take(records.iter().count()).try_for_each(|id| sizes.size(id).map(drop))?;
    }
    Ok((layouts, targets))
}

#[cfg(test)]
mod tests {
    use super::super::btf::*;
    use super::*;
    use rustc_hash::FxHashSet;

    /// BTF as a compiler would emit it.
    #[derive(Default)]
    struct Made {
        types: Vec<u32>,
        strings: Vec<u8>,
    }

    impl Made {
        fn add(mut self, kind: u32, name: &str, last: u32, rest: &[u32]) -> Self {
            let entries = if matches!(kind, STRUCT | UNION) { rest.len() as u32 / 3 } else { 0 };
            let name_at = self.strings.len() as u32 + 1;
            self.strings.extend(name.bytes().chain([0]));
            self.types.extend([name_at, kind << 24 | entries, last]);
            self.types.extend(rest);
            self
        }

        fn bytes(self) -> Vec<u8> {
            let types = self.types.len() as u32 * 4;
            let header = [MAGIC, HEADER, 0, types, types, self.strings.len() as u32 + 1];
            let words = header.into_iter().chain(self.types).flat_map(u32::to_ne_bytes);
            words.chain([0]).chain(self.strings).collect()
        }
    }

    /// `outer` holds an array of `alias`, which is `inner`, and points to `other`.
    fn made() -> Vec<u8> {
        Made::default()
            .add(INTEGER, "int", 4, &[32])
            .add(STRUCT, "other", 4, &[0, 1, 0])
            .add(TYPEDEF, "alias", 4, &[])
            .add(STRUCT, "inner", 4, &[0, 1, 0])
            .add(POINTER, "", 2, &[])
            .add(ARRAY, "", 0, &[3, 1, 2])
            .add(UNION, "outer", 8, &[0, 6, 0, 0, 5, 0])
            .add(PROTOTYPE, "", 0, &[])
            .add(TYPEDEF, "btf_trace_happened", 10, &[])
            .add(POINTER, "", 8, &[])
            .add(STRUCT, "outer_too", 4, &[0, 1, 0])
            .bytes()
    }

    fn names(names: &[&str]) -> Names {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    /// The types and the strings.
    fn sections(btf: &[u8]) -> (&[u8], &[u8]) {
        let section = |off: usize, len: usize| {
            let from = (HEADER + word(btf, off).unwrap()) as usize;
            &btf[from..from + word(btf, len).unwrap() as usize]
        };
        (section(8, 12), section(16, 20))
    }

    /// The type with this number in words: its kind and name, and those of what it is made of.
    fn told(btf: &[u8], id: u32, depth: u32) -> String {
        let (types, strings) = sections(btf);
        let records = Records::index(types).unwrap();
        let Some(record) = records.get(id) else { return "void".into() };
        let name =
            |at| String::from_utf8(name_at(strings, word(record, at).unwrap()).unwrap().to_vec()).unwrap();
        let mut text = format!("{} {}", kind(record), name(0));
        let mut inner = Vec::new();
        if kind(record) != POINTER && depth > 0 {
            each_word(record, |at, is| match is {
                Word::Name if at > 0 => inner.push(name(at)),
                Word::Name => {}
                Word::Type => inner.push(told(btf, word(record, at).unwrap(), depth - 1)),
            });
        }
        // Sizes and offsets.
        if matches!(kind(record), STRUCT | UNION | INTEGER) {
            inner.push(format!("{:?}", word(record, 8)));
            inner.extend(
                record[RECORD..]
                    .chunks(12)
                    .filter(|chunk| chunk.len() == 12)
                    .map(|member| format!("{:?}", word(member, 8))),
            );
        }
        text.push_str(&format!("({})", inner.join(", ")));
        text
    }

    /// The number of the type with this name, other than a forward declaration.
    fn number(btf: &[u8], name: &str) -> Option<u32> {
        assert!(Btf::parse(btf, Endianness::default()).is_ok());
        let (types, strings) = sections(btf);
        Records::index(types).unwrap().named(&names(&[name]), strings).unwrap().first().copied()
    }

    #[test]
    fn a_layout_is_made_of_the_same_and_a_target_keeps_its_number() {
        let full = made();
        let (layouts, targets) = reduced(&full, &names(&["outer", "btf_trace_happened"])).unwrap();
        let (old, new) = (number(&full, "outer").unwrap(), number(&layouts, "outer").unwrap());
        assert_eq!((old, told(&layouts, new, 9)), (7, told(&full, old, 9)));
        assert_eq!(number(&layouts, "other"), None, "behind a pointer");
        assert_eq!(number(&layouts, "outer_too"), None);
        assert_eq!(number(&targets, "btf_trace_happened"), Some(9));
        assert_eq!(number(&targets, "outer"), None);
    }

    #[test]
    fn a_description_that_is_cut_short_is_not_reduced() {
        let full = made();
        for len in 0..full.len() {
            let told = reduced(&full[..len], &names(&["outer", "btf_trace_happened"])).unwrap_err();
            assert!(told == "it is empty" || told.ends_with("not what dwell knows as types"), "{told}");
        }
    }

    #[test]
    fn nonsense_anywhere_is_refused_or_gives_records_again() {
        for at in 0..made().len() {
            for nonsense in [0, 1, 3, 0x7f, 0x80, 0xff] {
                let mut btf = made();
                btf[at] = nonsense;
                for image in reduced(&btf, &names(&["outer", "btf_trace_happened"]))
                    .into_iter()
                    .flat_map(|(a, b)| [a, b])
                {
                    let types = HEADER as usize..HEADER as usize + word(&image, 12).unwrap() as usize;
                    assert!(Records::index(&image[types]).is_some());
                }
            }
        }
    }

    #[test]
    fn every_structure_that_the_kernel_half_declares_is_wanted() {
        let relocated = include_str!("kernel.h").split("clang attribute push").nth(1).unwrap();
        let relocated = relocated.split("clang attribute pop").next().unwrap();
        let declared = relocated.lines().filter_map(|line| line.strip_prefix("struct ")?.split_once(" {"));
        // What stands behind three underscores is not part of the name.
        let declared: FxHashSet<_> =
            declared.map(|(name, _)| name.split("___").next().unwrap_or(name)).collect();
        assert_eq!(declared, STRUCTS.iter().copied().collect());
    }

    /// On the running kernel, where it has BTF.
    #[test]
    fn the_kernels_own_types_are_found() {
        let Ok(full) = KernelBtf::read() else { return };
        let (layouts, targets) =
            reduced(&full, &wanted(["sched_switch", "sys_enter"].into_iter(), &[])).unwrap();
        assert!(layouts.len() * 10 < full.len(), "{} of {}", layouts.len(), full.len());
        for name in ["task_struct", "tcp_sock", "qstr"] {
            let (old, new) = (number(&full, name).unwrap(), number(&layouts, name).unwrap());
            assert_eq!(told(&layouts, new, 3), told(&full, old, 3), "{name}");
        }
        for name in ["btf_trace_sched_switch", "btf_trace_sys_enter"] {
            assert_eq!(number(&targets, name), number(&full, name));
        }
        let object = super::super::load::OBJECT;
        let types = Types::read(object, ["sched_switch"].into_iter(), &[]).unwrap();
        assert!(types.has_tracepoint("sched_switch"));
        assert!(!types.has_tracepoint("sched_switc"));
    }
}
