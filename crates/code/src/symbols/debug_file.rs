//! The separate debug file of a stripped file.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gimli::Reader;

use crate::bytes::Bytes;
use crate::image::Image;

/// The debug file of an image, which is mapped as `path` by a process with root directory `root`:
/// `/usr/lib/debug/.build-id/…`, and the file of `.gnu_debuglink`, searched for as by gdb. It is
/// used when its build ID is the same; without build IDs, when the checksum of the link matches.
pub(crate) fn find(of: &Image, path: &str, root: &Path) -> Option<Image> {
    if of.section(b".debug_info").is_some() {
        return None;
    }
    let roots = [root, Path::new("/")];
    if let Some(id) = &of.build_id {
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        let path = format!("usr/lib/debug/.build-id/{}/{}.debug", &hex[..2], &hex[2..]);
        if let Some(found) = roots.iter().find_map(|root| open(&root.join(&path), of, None)) {
            return found;
        }
    }
    let (name, checksum) = link(of)?;
    let directory = Path::new(path).parent()?.strip_prefix("/").ok()?;
    let places = [directory.to_owned(), directory.join(".debug"), Path::new("usr/lib/debug").join(directory)];
    let candidates = roots.iter().flat_map(|root| places.iter().map(|place| root.join(place).join(&name)));
    candidates.into_iter().find_map(|path: PathBuf| open(&path, of, Some(checksum)))?
}

/// File name and checksum in `.gnu_debuglink`.
fn link(of: &Image) -> Option<(String, u32)> {
    let window = of.window(of.section(b".gnu_debuglink")?);
    let name = String::from_utf8(window.text(256)?).ok()?;
    if name.is_empty() || name.contains('/') {
        return None;
    }
    let checksum = window.from((name.len() as u64 + 4) & !3).read_u32().ok()?;
    Some((name, checksum))
}

/// Opens a candidate, if it belongs to `of`. `Some(None)` where the file system does not answer:
/// the next question would have none either.
fn open(path: &Path, of: &Image, checksum: Option<u32>) -> Option<Option<Image>> {
    let file = match sys::untrusted_file::open_any(path) {
        Err(error) if error.kind() == ErrorKind::TimedOut => return Some(None),
        opened => opened.ok()?,
    };
    let bytes = Arc::new(Bytes::of_opened(file).ok()?);
    let image = Image::read(&bytes).ok()?;
    let same = match (&of.build_id, &image.build_id) {
        (Some(of), Some(found)) => of == found,
        _ => checksum == checksum_of(&bytes) && checksum.is_some(),
    };
    same.then_some(Some(image))
}

/// CRC-32 of a whole file, as in `.gnu_debuglink`.
fn checksum_of(bytes: &Bytes) -> Option<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut at = 0;
    while at < bytes.len() {
        let page = bytes.page(at).ok()?;
        let rest = page.from(at)?;
        hasher.update(rest);
        at += rest.len() as u64;
    }
    Some(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ELF file with only a build ID, and a `.debug_info` where `with_debug`.
    fn file(id: &[u8; 4], with_debug: bool) -> Vec<u8> {
        let names = b"\0.debug_info\0.shstrtab\0";
        let mut notes = Vec::new();
        for word in [4u32, 4, 3] {
            notes.extend(word.to_le_bytes());
        }
        notes.extend(b"GNU\0");
        notes.extend(id);
        let (notes_at, names_at) = (64 + 56, 64 + 56 + notes.len());
        let sections_at = names_at + names.len();
        let mut made = b"\x7fELF\x02\x01\x01".to_vec();
        made.resize(16, 0);
        made.extend([2, 0, 62, 0, 1, 0, 0, 0]);
        for word in [0, 64, sections_at as u64] {
            made.extend(word.to_le_bytes());
        }
        made.extend([0; 4]);
        for half in [64u16, 56, 1, 64, 3, 2] {
            made.extend(half.to_le_bytes());
        }
        made.extend(4u32.to_le_bytes());
        made.extend(4u32.to_le_bytes());
        for word in [notes_at as u64, 0, 0, notes.len() as u64, notes.len() as u64, 4] {
            made.extend(word.to_le_bytes());
        }
        made.extend(&notes);
        made.extend(names);
        let debug_kind = if with_debug { 1 } else { 8 };
        for (name, kind, at, len) in
            [(0u32, 0u32, 0, 0), (1, debug_kind, 0, 8), (13, 3, names_at, names.len())]
        {
            made.extend(name.to_le_bytes());
            made.extend(kind.to_le_bytes());
            for word in [0, 0, at as u64, len as u64, 0, 0, 0] {
                made.extend(word.to_le_bytes());
            }
        }
        made
    }

    #[test]
    fn a_debug_file_is_found_by_build_id_under_the_processs_root() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("usr/lib/debug/.build-id/01");
        std::fs::create_dir_all(&directory).unwrap();
        let image = Image::of_memory(file(&[1, 2, 3, 4], false)).unwrap();
        assert_eq!(image.build_id.as_deref(), Some(&[1, 2, 3, 4][..]));
        let found = || find(&image, "/bin/x", root.path());
        assert!(found().is_none());
        let path = directory.join("020304.debug");
        std::fs::write(&path, file(&[1, 2, 3, 5], true)).unwrap();
        assert!(found().is_none(), "it is of another build");
        std::fs::write(&path, file(&[1, 2, 3, 4], true)).unwrap();
        assert!(found().unwrap().section(b".debug_info").is_some());
        let image = Image::of_memory(file(&[1, 2, 3, 4], true)).unwrap();
        assert!(find(&image, "/bin/x", root.path()).is_none(), "it has all itself");
    }
}
