//! `cargo xtask kernel-types NAME=FILE…`: keeps what tests need of another kernel's types.
//!
//! FILE is the kernel's image (`vmlinuz`), or its BTF as `/sys/kernel/btf/vmlinux` has it. What is
//! kept are the structures that the kernel half reads and the names of all tracepoints:
//! `crates/observe/tests/kernels/NAME.btf.gz`.

use crate::btf;
use crate::shell::root;
use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

/// How the kernel's image may be compressed: the first bytes, and the program that unpacks it.
const PACKED: [(&[u8], &str); 3] =
    [(b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\x1f\x8b\x08", "gzip")];

/// No kernel and no BTF of one is smaller.
const LEAST: usize = 1 << 20;

/// Where they are kept.
pub(crate) fn place() -> PathBuf {
    root().join("crates/observe/tests/kernels")
}

/// Keeps them.
///
/// # Errors
/// A file has no BTF, or cannot be read or written.
pub(crate) fn run(arguments: &[&str]) -> Result<()> {
    if arguments.is_empty() {
        bail!("cargo xtask kernel-types NAME=FILE…");
    }
    for argument in arguments {
        let (name, file) = argument.split_once('=').context("NAME=FILE")?;
        let image = fs::read(file).with_context(|| format!("cannot read {file}"))?;
        keep(name, &image)?;
    }
    Ok(())
}

/// Keeps the types of this kernel.
///
/// # Errors
/// Its image has no BTF, or a kind of type that is not known here.
pub(crate) fn keep(name: &str, image: &[u8]) -> Result<()> {
    let types = types_in(image).with_context(|| format!("{name}: no BTF was found in the image"))?;
    let kept = btf::kept(&types, &["bpf_iter_task"])
        .with_context(|| format!("{name}: its BTF is not known here"))?;
    let path = place().join(format!("{name}.btf.gz"));
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&kept)?;
    let packed = packed.finish()?;
    println!("{}: {} of {} bytes, {} packed", path.display(), kept.len(), types.len(), packed.len());
    fs::write(&path, packed).with_context(|| format!("cannot write {}", path.display()))
}

/// The BTF in an image, which may be packed.
fn types_in(image: &[u8]) -> Option<Vec<u8>> {
    if let Some(types) = plain(image) {
        return Some(types.to_vec());
    }
    let starts = |(magic, program): (&'static [u8], &'static str)| {
        let at = image.windows(magic.len()).enumerate().filter(move |(_, bytes)| *bytes == magic);
        at.map(move |(at, _)| (at, program))
    };
    let unpacked =
        PACKED.into_iter().flat_map(starts).filter_map(|(at, program)| unpack(program, &image[at..]));
    unpacked.filter(|bytes| bytes.len() >= LEAST).find_map(|bytes| plain(&bytes).map(<[u8]>::to_vec))
}

/// The largest BTF in these bytes.
fn plain(bytes: &[u8]) -> Option<&[u8]> {
    let magic = btf::MAGIC.to_le_bytes();
    let word = |at: usize| btf::word(bytes, at).map(|word| word as usize);
    let whole = |at: usize| {
        let [header, types_at, types, strings_at, strings] = [4, 8, 12, 16, 20].map(|off| word(at + off));
        let fits = header? == btf::HEADER as usize && types_at? == 0 && strings_at? == types?;
        let end = at.checked_add(header?)?.checked_add(types?)?.checked_add(strings?)?;
        bytes.get(at..end).filter(|btf| fits && btf.len() >= LEAST)
    };
    let places = bytes.windows(4).enumerate().filter(|(_, window)| *window == magic);
    places.filter_map(|(at, _)| whole(at)).max_by_key(|btf| btf.len())
}

/// What the program makes of these bytes; it may complain about what comes after them.
fn unpack(program: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    let piped = command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = piped.spawn().ok()?;
    let mut input = child.stdin.take()?;
    let output = thread::scope(|scope| {
        // It stops reading where what is packed ends.
        scope.spawn(move || drop(input.write_all(bytes)));
        child.wait_with_output()
    });
    Some(output.ok()?.stdout)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_found_in_an_image_plain_or_packed() {
        let mut types = Vec::new();
        for word in [btf::MAGIC, 24, 0, LEAST as u32, LEAST as u32, 8] {
            types.extend(word.to_le_bytes());
        }
        types.resize(24 + LEAST + 8, 0);
        let image = [b"kernel".as_slice(), &types, b"rest"].concat();
        assert_eq!(types_in(&image).unwrap(), types);
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&image).unwrap();
        let whole = [b"boot".as_slice(), &packed.finish().unwrap(), b"rest"].concat();
        assert_eq!(types_in(&whole).unwrap(), types);
        assert_eq!(types_in(b"nothing"), None);
    }
}
