//! What a BPF object asks of a kernel's types, and what becomes of it: each CO-RE relocation by the
//! name of its field, whether a kernel has the field, and of how many bytes.
//!
//! The loader resolves them as well, but does not tell which it could not: those become
//! instructions that the verifier refuses where they are reached.

use super::super::btf::{self, ARRAY, INTEGER, POINTER, RECORD, STRUCT, UNION};
use object::{Object, ObjectSection};
use std::collections::BTreeSet;

/// The kind of a relocation (`enum bpf_core_relo_kind`): whether a field is there.
const EXISTS: u32 = 2;
/// The first kind that is of a type or an enumerator; those below it are of a field's place, size,
/// sign and shifts.
const OF_TYPES: u32 = 6;

/// A field, as `type.field.field`, of the type's flavour.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Field {
    /// The type without what stands behind three underscores.
    of: String,
    flavour: String,
    path: Vec<Step>,
    /// Bytes, as the object declares it; 0 for what is no number and no pointer.
    bytes: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Member(String),
    Element(u32),
}

/// What an object asks of fields.
#[derive(Debug, Default)]
pub(super) struct Asked {
    /// Those whose place is asked for.
    pub(super) fields: BTreeSet<Field>,
    /// Those of which is asked whether they are there.
    guards: BTreeSet<Field>,
    /// The tracepoints that its programs are attached to.
    pub(super) tracepoints: BTreeSet<String>,
}

impl Field {
    pub(super) fn name(&self) -> String {
        let path = self.path.iter().map(|step| match step {
            Step::Member(name) => format!(".{name}"),
            Step::Element(index) => format!("[{index}]"),
        });
        format!("{}{}{}", self.of, self.flavour, path.collect::<String>())
    }
}

impl Asked {
    /// What this object asks.
    pub(super) fn of(elf: &[u8]) -> Self {
        let file = object::File::parse(elf).expect("the object is ELF");
        let section = |name| file.section_by_name(name).and_then(|one| one.data().ok()).expect("it has BTF");
        let (types, more) = (Types(section(".BTF")), section(".BTF.ext"));
        let word = |at: usize| btf::word(more, at).expect("its BTF is whole") as usize;
        let (header, from, length) = (word(4), word(24), word(28));
        let mut asked = Self::default();
        let mut at = header + from + 4;
        while at < header + from + length {
            let many = word(at + 4);
            at += 8;
            for _ in 0..many {
                let [of, access, kind] = [4, 8, 12].map(|off| word(at + off) as u32);
                if kind < OF_TYPES {
                    let field = types.field(of, types.text(access));
                    if kind == EXISTS {
                        asked.guards.insert(field)
                    } else {
                        asked.fields.insert(field)
                    };
                }
                at += 16;
            }
        }
        let programs =
            file.sections().filter_map(|one| Some(one.name().ok()?.strip_prefix("tp_btf/")?.to_owned()));
        asked.tracepoints.extend(programs);
        asked
    }

    /// Whether the object asks first: for this field, or for one that it is in.
    pub(super) fn is_guarded(&self, field: &Field) -> bool {
        let holds = |guard: &Field| {
            (&guard.of, &guard.flavour) == (&field.of, &field.flavour) && field.path.starts_with(&guard.path)
        };
        self.guards.iter().any(holds)
    }
}

/// What a kernel has of a field.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It is not there.
    Missing,
    /// It is as the object declares it.
    Same,
    /// It has this many bytes.
    Bytes(u32),
}

/// The types of an object or a kernel.
pub(super) struct Types<'a>(pub(super) &'a [u8]);

impl<'a> Types<'a> {
    /// What this kernel has of it.
    pub(super) fn find(&self, field: &Field) -> Found {
        let Some(of) = self.number(&field.of) else { return Found::Missing };
        let last = field.path.iter().try_fold(of, |of, step| match step {
            Step::Member(name) => self.member(of, name),
            Step::Element(_) => self.element(of),
        });
        match last.map(|id| self.bytes(id)) {
            None => Found::Missing,
            Some(bytes) if bytes == field.bytes => Found::Same,
            Some(bytes) => Found::Bytes(bytes),
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        btf::strings(self.0).split(|byte| *byte == 0).any(|known| known == name.as_bytes())
    }

    fn records(&self) -> (btf::Records<'a>, &'a [u8]) {
        btf::parts(self.0).expect("the BTF is valid")
    }

    fn text(&self, at: u32) -> &'a str {
        let name = btf::name_at(btf::strings(self.0), at).expect("a name ends");
        std::str::from_utf8(name).expect("a name is text")
    }

    fn record(&self, id: u32) -> Option<&'a [u8]> {
        self.records().0.get(id)
    }

    /// The type behind typedefs and qualifiers.
    fn bare(&self, mut id: u32) -> Option<u32> {
        while let Some(8..=11 | 18) = self.record(id).map(btf::kind) {
            id = btf::word(self.record(id)?, 8)?;
        }
        Some(id)
    }

    fn number(&self, name: &str) -> Option<u32> {
        let (records, strings) = self.records();
        let all = records.iter().zip(1..).filter(|(record, _)| matches!(btf::kind(record), STRUCT | UNION));
        let mut named = all.filter(|(record, _)| {
            btf::word(record, 0).and_then(|at| btf::name_at(strings, at)) == Some(name.as_bytes())
        });
        named.next().map(|(_, id)| id)
    }

    /// The names and types of the members of a structure.
    fn members(&self, of: u32) -> Vec<(&'a str, u32)> {
        let record = self
            .bare(of)
            .and_then(|id| self.record(id))
            .filter(|record| matches!(btf::kind(record), STRUCT | UNION));
        let words = record.map_or(&[][..], |record| &record[RECORD..]).chunks(12);
        words.map(|one| (self.text(btf::word(one, 0).unwrap()), btf::word(one, 4).unwrap())).collect()
    }

    /// The type of this member, also of a member of a part without a name.
    fn member(&self, of: u32, name: &str) -> Option<u32> {
        let members = self.members(of);
        let direct = members.iter().find(|(known, _)| *known == name).map(|(_, id)| *id);
        direct.or_else(|| {
            members.iter().filter(|(known, _)| known.is_empty()).find_map(|(_, id)| self.member(*id, name))
        })
    }

    fn element(&self, of: u32) -> Option<u32> {
        let record = self.record(self.bare(of)?).filter(|record| btf::kind(record) == ARRAY)?;
        btf::word(record, RECORD)
    }

    fn bytes(&self, id: u32) -> u32 {
        let Some(record) = self.bare(id).and_then(|id| self.record(id)) else { return 0 };
        match btf::kind(record) {
            POINTER => 8,
            INTEGER => btf::word(record, 8).unwrap_or(0),
            _ => 0,
        }
    }

    /// The field of an object's own type that an access (`0:3:1`) is of.
    fn field(&self, of: u32, access: &str) -> Field {
        let whole = self.text(btf::word(self.record(of).expect("a type"), 0).unwrap());
        let (name, flavour) = whole.split_at(whole.find("___").unwrap_or(whole.len()));
        let (mut id, mut path) = (of, Vec::new());
        // The first is of an array of these.
        for index in access.split(':').skip(1).map(|index| index.parse::<u32>().expect("a number")) {
            if let Some(element) = self.element(id) {
                path.push(Step::Element(index));
                id = element;
                continue;
            }
            let (name, of) = self.members(id)[index as usize];
            if !name.is_empty() {
                path.push(Step::Member(name.to_owned()));
            }
            id = of;
        }
        Field { of: name.to_owned(), flavour: flavour.to_owned(), path, bytes: self.bytes(id) }
    }
}
