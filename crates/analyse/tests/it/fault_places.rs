//! Which mappings page faults are in, and whose code they are of, told in small stories.

use crate::story::*;
use model::coverage::{Extent, Source};
use model::fault_places::{FaultMapping, FaultRow, MappingKind};
use model::recording::{CodeLocation, Event, Function};
use model::{Run, Seen, Tid};

const MIB: u64 = 1 << 20;

fn source(seen: Extent) -> Source {
    Source { name: "fault places".into(), seen, why: "refused".into(), remedy: String::new() }
}

fn sampled(story: &mut Story, tid: Tid, mapping: FaultMapping, node: Option<u32>) {
    story.push(|at| Event::FaultSampled { at, tid, faults: 251, mapping, node });
}

/// The root touches its heap at two addresses of one line, and a file; its child a stack.
fn story() -> Story {
    let mut story = Story::begins();
    for id in 0..2 {
        let place = CodeLocation::Native { module: "root".into(), address: 0x10 + u64::from(id) };
        story.push(|_| Event::Place { id, place });
        story.push(|_| Event::Node { id: id + 1, caller: 0, place: id });
        let source = Some(("/src/a.c".to_owned(), 7));
        let functions = vec![Function { name: Some("fill".into()), source, inlined: false }];
        story.push(|_| Event::Named { place: id, functions });
    }
    story.after(10);
    sampled(&mut story, ROOT, FaultMapping::Heap, Some(1));
    sampled(&mut story, ROOT, FaultMapping::Heap, Some(2));
    sampled(&mut story, ROOT, FaultMapping::File { dev: 8, ino: 5, name: "data".into() }, None);
    story.push(|_| Event::Path { dev: 8, ino: 5, path: "/tmp/data".into() });
    story.after(1).forks(ROOT, CHILD, CHILD);
    sampled(&mut story, CHILD, FaultMapping::Stack, None);
    // Of no thread of the tree.
    sampled(&mut story, 999, FaultMapping::Heap, None);
    story.after(5).push(|at| Event::MemoryPeak { at, pid: ROOT, bytes: 3 * MIB });
    story.ends();
    story
}

fn rows(run: &Run, of: usize) -> &[FaultRow] {
    &run.tables.fault_places.value().unwrap_or_else(|| panic!("{:?}", run.tables.fault_places)).processes[of]
        .rows
}

#[test]
fn faults_are_told_by_process_mapping_and_line() {
    let run = story().told_with(source(Extent::Full));
    let [heap, file] = rows(&run, 0) else { panic!("{:?}", run.tables.fault_places) };
    assert_eq!((heap.kind, heap.faults, heap.samples), (MappingKind::Heap, 502, 2));
    assert_eq!(heap.place, Seen::Value("fill (a.c:7)".into()));
    assert_eq!((file.kind, &file.path), (MappingKind::File, &Seen::Value("/tmp/data".into())));
    assert!(matches!(file.place, Seen::Unseen(_)), "{:?}", file.place);
    let processes = &run.tables.fault_places.value().expect("as above").processes;
    let figures: Vec<_> = processes.iter().map(|of| (of.pid, of.faults, of.peak_bytes.value())).collect();
    assert_eq!(figures, [(ROOT, 753, Some(&(3 * MIB))), (CHILD, 251, None)]);
    assert_eq!(rows(&run, 1)[0].kind, MappingKind::Stack);
}

#[test]
fn where_they_were_not_sampled_none_is_known() {
    assert!(matches!(story().told().tables.fault_places, Seen::Unseen(_)), "an older recording");
    let run = story().told_with(source(Extent::None));
    assert_eq!(run.tables.fault_places, Seen::unseen("refused"));
}
