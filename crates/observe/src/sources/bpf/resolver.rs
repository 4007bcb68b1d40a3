//! Name lookups of the C library: uprobes on `getaddrinfo` in the libraries of the host.
//!
//! One is on its first instruction and one on each return instruction. A uretprobe replaces the
//! return address, and then no stack can be unwound out of the library. `resolver.h` records the
//! lookups. For a program with another C library (static, or in a container started later) only its
//! packets are observed.

use super::uprobe::{self, Place};
use crate::machine;
use crate::unit_probes::{Ends, ends};
use aya::Ebpf;
use code::Image;
use model::Pid;
use model::coverage::Source;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use sys::untrusted_file;

const FUNCTION: &str = "getaddrinfo";

/// Prefixes of the names of C libraries.
const NAMES: &[&str] = &["libc.so", "libc-2.", "ld-musl-"];
/// Where none lies at its usual place, and no observed process has one.
const NO_LIBRARY: &str = "no C library was found, where distributions have it or in the observed processes";

/// Attaches to the libraries of the host and of these processes, for as long as the events are
/// open. Returns also what it could not attach, if anything.
pub(super) fn attach(ebpf: &mut Ebpf, pids: &[Pid]) -> (Vec<OwnedFd>, Option<Source>) {
    let mut libraries = BTreeMap::new();
    let mut refused = Vec::new();
    let own = machine::here().libraries.iter().map(PathBuf::from);
    for path in own.chain(pids.iter().flat_map(|pid| mapped(*pid))) {
        match opened(&path) {
            Ok((which, file)) => {
                libraries.entry(which).or_insert((path, file));
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => refused.push((path, error.to_string())),
        }
    }
    let found = libraries.len() + refused.len();
    let mut events = Vec::new();
    for (path, file) in libraries.into_values() {
        match attach_to(ebpf, &file) {
            Ok(attached) => events.extend(attached),
            Err(why) => refused.push((path, why)),
        }
    }
    (events, missing(found, &refused))
}

/// What is not seen of lookups, of this many libraries that were found, with those that were
/// refused.
fn missing(found: usize, refused: &[(PathBuf, String)]) -> Option<Source> {
    let remedy = "queries to name servers over UDP are traced nevertheless";
    if found == 0 {
        return Some(Source::none("names", NO_LIBRARY, remedy));
    }
    let lookups =
        |(library, why): &(PathBuf, String)| format!("lookups through {}: {why}", library.display());
    let why: Vec<String> = refused.iter().map(lookups).collect();
    (!why.is_empty()).then(|| Source::partial("names", why.join("; "), remedy))
}

/// C libraries that a process has mapped, by paths that are valid here.
fn mapped(pid: Pid) -> Vec<PathBuf> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    let is_library = |path: &&str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        NAMES.iter().any(|begin| name.starts_with(begin))
    };
    paths.filter(is_library).map(|path| PathBuf::from(format!("/proc/{pid}/root{path}"))).collect()
}

/// A library, and which file it is. What is attached to it stands in every process that maps the
/// file: so only a file that nobody but root can change, by rights or in place, will do.
fn opened(path: &Path) -> io::Result<((u64, u64), File)> {
    let file = untrusted_file::open(path)?;
    let found = file.metadata()?;
    match untrusted_file::changed_by_others(&found) {
        None => Ok(((found.dev(), found.ino()), file)),
        Some(why) => Err(io::Error::new(ErrorKind::PermissionDenied, why)),
    }
}

fn attach_to(ebpf: &mut Ebpf, file: &File) -> Result<Vec<OwnedFd>, String> {
    let read = file.try_clone().map_err(|error| error.to_string())?;
    let image = Image::open(read).map_err(|error| error.to_string())?;
    let Ends { entry, exits, .. } = function_ends(&image)?;
    let exits = exits.into_iter().map(|exit| ("resolver_answered", exit));
    let places = exits.chain([("resolver_asked", entry)]);
    places.map(|(program, at)| uprobe::attach(ebpf, file, program, Place::everywhere(at))).collect()
}

/// Where the function begins and where it is left.
fn function_ends(library: &Image) -> Result<Ends, String> {
    let found = library.find(FUNCTION);
    let function = found.iter().find(|found| found.symbol == FUNCTION).ok_or("it has no getaddrinfo")?;
    ends(library, function).map_err(|why| format!("its getaddrinfo {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::coverage::Extent;

    #[test]
    fn the_librarys_function_has_a_beginning_and_an_end() {
        let library =
            machine::here().libraries.iter().find(|path| Path::new(path).exists()).expect("a C library");
        let bytes = fs::read(library).unwrap();
        let image = Image::of_memory(bytes.clone()).unwrap();
        let Ends { entry, exits, .. } = function_ends(&image).unwrap();
        for at in exits {
            let last = usize::try_from(at).unwrap();
            #[cfg(target_arch = "x86_64")]
            assert!(matches!(bytes[last], 0xc3 | 0xf2 | 0xf3), "{:x}", bytes[last]);
            #[cfg(target_arch = "aarch64")]
            assert_eq!(bytes[last..last + 4], 0xd65f_03c0u32.to_le_bytes());
            assert!(entry < at && at < entry + 65_536);
        }
    }

    #[test]
    fn only_a_library_that_nobody_but_root_can_change_is_taken() {
        use std::os::unix::fs::{PermissionsExt, chown, symlink};
        let top = tempfile::tempdir().unwrap();
        let library =
            machine::here().libraries.iter().find(|path| Path::new(path).exists()).expect("a C library");
        let copy = top.path().join("libc.so.6");
        fs::copy(library, &copy).unwrap();
        assert!(opened(Path::new(library)).is_ok());
        if sys::user::is_root() {
            let (which, _) = opened(&copy).unwrap();
            let link = top.path().join("link");
            symlink(&copy, &link).unwrap();
            assert_eq!(opened(&link).unwrap().0, which, "the file decides, not its name");
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o666)).unwrap();
            assert!(opened(&copy).unwrap_err().to_string().contains("others than root may write"));
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
            chown(&copy, Some(65_534), None).unwrap();
        }
        assert!(opened(&copy).unwrap_err().to_string().contains("belongs to user"));
    }

    #[test]
    fn without_a_library_no_lookup_is_seen() {
        let none = missing(0, &[]).unwrap();
        assert_eq!((none.seen, none.why.as_str()), (Extent::None, NO_LIBRARY));
        assert_eq!(missing(2, &[]), None);
        let one = missing(2, &[("/lib/libc.so.6".into(), "no".to_owned())]).unwrap();
        assert_eq!((one.seen, one.why.as_str()), (Extent::Partial, "lookups through /lib/libc.so.6: no"));
    }

    #[test]
    fn a_process_is_asked_which_library_it_has() {
        let mine = mapped(std::process::id());
        assert!(mine.iter().all(|path| path.starts_with(format!("/proc/{}/root", std::process::id()))));
        assert!(mapped(0).is_empty());
    }
}
