//! Functions that make, free and collect memory, by their names.

use model::profile::Frame;
use model::recording::Language;

/// What an allocator does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// It makes a block.
    Makes,
    /// It takes one back.
    Frees,
    /// It looks for blocks that nobody needs.
    Collects,
}

/// What a function does for memory, where it is an allocator's.
pub(super) fn step(frame: &Frame) -> Option<Step> {
    if frame.language != Language::Native {
        return None;
    }
    // Rust 1.90 and later put its entries to the allocator into a crate of their own.
    let name = frame.function.strip_prefix("__rustc::").unwrap_or(&frame.function);
    let starts = |with: &[&str]| with.iter().any(|with| name.starts_with(with));
    match () {
        () if MAKE.contains(&name) || starts(MAKE_STARTS) => Some(Step::Makes),
        () if name.contains("dlmalloc::") => Some(of_dlmalloc(name)),
        () if FREE.contains(&name) || starts(FREE_STARTS) => Some(Step::Frees),
        () if COLLECT.contains(&name) || starts(COLLECT_STARTS) => Some(Step::Collects),
        () => None,
    }
}

/// Whether a thread of this name is a collector's own, as OpenJDK names them: there its library has
/// no symbols as a rule. The VM's own thread stops the others, mostly to collect.
pub(super) fn collects(thread: &str) -> bool {
    const STARTS: &[&str] =
        &["GC Thread#", "GC task thread", "ParGC Thread", "G1 ", "ZWorker", "ZDriver", "Shenandoah"];
    thread == "VM Thread" || STARTS.iter().any(|start| thread.starts_with(start))
}

/// A function of the Rust crate, which has methods in place of names.
fn of_dlmalloc(name: &str) -> Step {
    const FREE: &[&str] = &["free", "dispose_chunk", "release_unused_segments", "free_part", "sys_trim"];
    let method = name.rsplit("::").next().unwrap_or(name);
    if FREE.contains(&method) { Step::Frees } else { Step::Makes }
}

/// The C libraries', and what mimalloc, jemalloc and tcmalloc offer; Rust's; Go's; CPython's.
const MAKE: &[&str] = &[
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "aligned_alloc",
    "posix_memalign",
    "_int_malloc",
    "_int_realloc",
    "_int_memalign",
    "sysmalloc",
    "__libc_malloc",
    "__libc_malloc_impl",
    "__libc_calloc",
    "__libc_realloc",
    "__libc_memalign",
    "__rust_alloc",
    "__rust_alloc_zeroed",
    "__rust_realloc",
    "__rdl_alloc",
    "__rdl_realloc",
    "__rg_alloc",
    "__rg_realloc",
    "je_malloc",
    "je_calloc",
    "je_realloc",
    "mi_malloc",
    "mi_calloc",
    "mi_realloc",
    "tc_malloc",
    "tc_new",
    "runtime.newobject",
    "runtime.makeslice",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "PyObject_Malloc",
    "PyMem_Malloc",
];
const MAKE_STARTS: &[&str] =
    &["operator new", "tcmalloc::", "_rjem_malloc", "_rjem_mallocx", "runtime.mallocgc"];

const FREE: &[&str] = &[
    "free",
    "cfree",
    "_int_free",
    "_int_free_merge_chunk",
    "malloc_consolidate",
    "unlink_chunk",
    "unlink_chunk.constprop.0",
    "unlink_chunk.isra.0",
    "malloc_trim",
    "systrim",
    "systrim.constprop.0",
    "__libc_free",
    "__rust_dealloc",
    "__rdl_dealloc",
    "__rg_dealloc",
    "je_free",
    "mi_free",
    "tc_free",
    "tc_delete",
    "_PyObject_Free",
    "PyObject_Free",
    "PyMem_Free",
];
const FREE_STARTS: &[&str] = &["operator delete", "_rjem_sdallocx", "_rjem_free"];

const COLLECT: &[&str] = &[
    "runtime.gcBgMarkWorker",
    "runtime.gcDrain",
    "runtime.gcAssistAlloc",
    "runtime.bgsweep",
    "runtime.bgscavenge",
    "gc_collect_main",
    "_PyGC_Collect",
];
const COLLECT_STARTS: &[&str] = &[
    "v8::internal::Scavenger",
    "v8::internal::MarkCompact",
    "v8::internal::Heap::CollectGarbage",
    "v8::internal::ConcurrentMarking",
    "v8::internal::MarkingVisitor",
    "v8::internal::Sweeper",
];

#[cfg(test)]
mod tests {
    use super::super::own_code::tests::native;
    use super::*;

    #[test]
    fn functions_are_told_by_their_names() {
        let of = |name: &str| step(&native("program", name));
        assert_eq!(of("malloc"), Some(Step::Makes));
        assert_eq!(of("operator new(unsigned long)"), Some(Step::Makes));
        assert_eq!(of("operator delete(void*)"), Some(Step::Frees));
        assert_eq!(of("__rustc::__rust_alloc"), Some(Step::Makes));
        assert_eq!(of("__rustc::__rust_dealloc"), Some(Step::Frees));
        assert_eq!(of("dlmalloc::dlmalloc::Dlmalloc<A>::malloc"), Some(Step::Makes));
        assert_eq!(of("dlmalloc::dlmalloc::Dlmalloc<A>::free"), Some(Step::Frees));
        assert_eq!(of("runtime.gcDrain"), Some(Step::Collects));
        assert_eq!(of("runtime.mallocgcSmallNoscan"), Some(Step::Makes));
        assert_eq!(of("v8::internal::Sweeper::RawSweep"), Some(Step::Collects));
        assert_eq!(of("free_list"), None);
        assert!(collects("GC Thread#1") && collects("G1 Conc#0") && collects("VM Thread"));
        assert!(!collects("VM Periodic Tas") && !collects("java"));
        let script = Frame { language: Language::Python, ..native("busy.py", "free") };
        assert_eq!(step(&script), None);
    }
}
