//! Names of kernel functions, from the kernel half (`names.h`).

use aya::Ebpf;
use aya::maps::Array;
use aya::programs::RawTracePoint;
use sys::bpf::run_once;

/// Addresses per run (`NAMES`), and words of an entry: the address and 120 bytes of text.
const AT_ONCE: usize = 512;
const WORDS: usize = 1 + 15;

/// The function at each address, `name [module]` for those of modules; none where there is no
/// function. None at all when the program cannot be run.
pub(crate) fn ask(ebpf: &mut Ebpf, addresses: &[u64]) -> Option<Vec<Option<String>>> {
    let program: &mut RawTracePoint = ebpf.program_mut("name_addresses")?.try_into().ok()?;
    if program.fd().is_err() {
        program.load().ok()?;
    }
    let program = program.fd().ok()?.try_clone().ok()?;
    let mut table = Array::<_, [u64; WORDS]>::try_from(ebpf.map_mut("names")?).ok()?;
    let mut names = Vec::with_capacity(addresses.len());
    for some in addresses.chunks(AT_ONCE) {
        // An address of 0 ends the table.
        for (index, address) in some.iter().chain([&0]).take(AT_ONCE).enumerate() {
            let mut entry = [0; WORDS];
            entry[0] = *address;
            table.set(index as u32, entry, 0).ok()?;
        }
        run_once(std::os::fd::AsFd::as_fd(&program)).ok()?;
        for index in 0..some.len() {
            names.push(text(&table.get(&(index as u32), 0).ok()?));
        }
    }
    Some(names)
}

fn text(entry: &[u64; WORDS]) -> Option<String> {
    let bytes: Vec<u8> = entry[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let len = bytes.iter().position(|byte| *byte == 0)?;
    let name = std::str::from_utf8(&bytes[..len]).ok()?;
    // An address without a symbol is printed as a number.
    (!name.is_empty() && !name.starts_with("0x")).then(|| name.to_owned())
}
