//! What the fuzzer runs on what the kernel gives and programs can influence: records of BPF
//! programs and of perf events, packets, files of `/proc`.
//!
//! The functions return nothing: they must end, without a panic, whatever the bytes are.

use crate::sources::fuzzed as sources;

/// The content of a CPU's buffer of the kernel half.
pub fn buffer(bytes: &[u8]) {
    sources::buffer(bytes);
}

/// Records of the kernel half, each behind a byte with its length in words.
pub fn ring(bytes: &[u8]) {
    sources::ring(bytes);
}

/// Packets, each behind a byte with its length.
pub fn packets(bytes: &[u8]) {
    sources::packets(bytes);
}

/// A record of perf_event_open(2).
pub fn perf(bytes: &[u8]) {
    sources::perf(bytes);
}

/// Records of the ring of wake-ups.
pub fn spikes(bytes: &[u8]) {
    crate::spikes::fuzzed::ring(bytes);
}

/// Texts of `/proc` and `/sys`, and the answers of a Java machine.
pub fn texts(bytes: &[u8]) {
    sources::texts(bytes);
    let text = String::from_utf8_lossy(bytes);
    let _ = crate::mounts::parse(&text);
    crate::jvm::texts(&text);
    crate::surroundings::texts(&text);
    let _ = crate::local_sockets::event(7, bytes, b"");
    let _ = host::stat::by_cpu(&text).count();
}

#[cfg(test)]
mod tests {
    use super::*;
    use seeds::replay;

    #[test]
    fn what_was_made_up_is_read_or_refused() {
        replay("ring", ring);
        replay("buffer", buffer);
        replay("packets", packets);
        replay("perf", perf);
        replay("spikes", spikes);
        replay("texts", texts);
    }
}
