//! Recordings are read back: a new one, an old one, and the valid part of a damaged one.

use crate::sample;
use crate::sample::recording;
use dwell_store::{DEFAULT_LIMIT_BYTES, Error, Incomplete, KeptRecording, MAGIC, Reader, Writer};
use model::recording::Recording;
use model::{Event, Header, Trailer};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn name() -> &'static Path {
    Path::new("in memory")
}

fn written_to(
    out: &mut Vec<u8>,
    recording: &Recording,
    limit_bytes: u64,
    result: Option<&str>,
) -> KeptRecording {
    let mut writer = Writer::new(out, name(), &recording.header, limit_bytes);
    recording.events.iter().for_each(|event| writer.event(event));
    writer.end(&recording.trailer);
    writer.finish(result).unwrap()
}

fn written(recording: &Recording) -> Vec<u8> {
    let mut bytes = Vec::new();
    written_to(&mut bytes, recording, DEFAULT_LIMIT_BYTES, None);
    bytes
}

fn open(bytes: &[u8]) -> Result<Reader<&[u8]>, Error> {
    Reader::new(bytes, name())
}

/// The sample, with its events repeated until they fill several blocks.
fn long() -> Recording {
    let mut recording = recording();
    let once = recording.events.clone();
    while recording.events.len() < 12_000 {
        recording.events.extend(once.iter().cloned());
    }
    recording
}

/// A file that was written once and must always open.
fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn opens_as(path: &Path, expected: Recording) {
    let mut reader = Reader::open(path).unwrap();
    assert_eq!(*reader.header(), expected.header);
    assert_eq!(reader.by_ref().collect::<Vec<_>>(), expected.events);
    let end = reader.end();
    assert_eq!((end.trailer, end.concluded, end.notice), (Some(expected.trailer), None, None));
}

#[test]
fn a_recording_of_format_1_opens_for_ever() {
    let mut expected = recording();
    expected.events.retain(|event| !sample::of_stacks(event));
    opens_as(&golden("format-1.dwell"), expected);
}

#[test]
fn a_recording_with_stacks_opens_for_ever() {
    let path = golden("format-1-stacks.dwell");
    // Only for a new sample before its first release: afterwards the file is what old files are.
    if std::env::var_os("DWELL_WRITE_GOLDEN").is_some() {
        fs::write(&path, written(&recording())).unwrap();
    }
    opens_as(&path, recording());
}

#[test]
fn the_sample_has_every_kind_of_event() {
    let kinds: BTreeSet<&str> = recording().events.iter().map(sample::variant).collect();
    assert_eq!(kinds.len(), 17);
}

#[test]
fn many_blocks_come_back() {
    let recording = long();
    let bytes = written(&recording);
    assert!(bytes.len() > 5 << 16);
    let mut reader = open(&bytes).unwrap();
    assert!(reader.by_ref().eq(recording.events));
    assert_eq!(reader.end().trailer, Some(recording.trailer));
}

#[test]
fn the_end_can_be_had_without_the_events() {
    let recording = long();
    assert_eq!(open(&written(&recording)).unwrap().end().trailer, Some(recording.trailer));
}

#[test]
fn beyond_the_limit_the_result_stands_for_the_events() {
    let recording = long();
    let mut bytes = Vec::new();
    let kept = written_to(&mut bytes, &recording, 100_000, Some(r#"{"schema":"dwell.run/1"}"#));
    assert!((90_000..110_000).contains(&kept.bytes), "{kept:?}");
    assert_eq!(kept.bytes, bytes.len() as u64);

    let mut reader = open(&bytes).unwrap();
    let events: Vec<Event> = reader.by_ref().collect();
    assert!(recording.events.starts_with(&events) && events.len() < recording.events.len());
    let end = reader.end();
    assert_eq!(kept.until, events.iter().rev().find_map(Event::at));
    assert_eq!(end.trailer, Some(Trailer { kept_until: kept.until, ..recording.trailer }));
    assert_eq!(end.concluded.as_deref(), Some(r#"{"schema":"dwell.run/1"}"#));
    assert_eq!(end.notice, None);
}

#[test]
fn a_limit_below_the_first_event_keeps_none() {
    let mut bytes = Vec::new();
    let kept = written_to(&mut bytes, &recording(), 0, None);
    assert_eq!(kept.until, Some(0));
    assert_eq!(open(&bytes).unwrap().count(), 0);
}

#[test]
fn every_beginning_of_a_file_opens_with_a_notice_or_not_at_all() {
    let recording = recording();
    let bytes = written(&recording);
    let mut opened = 0;
    for length in 0..bytes.len() {
        let mut reader = match open(&bytes[..length]) {
            Ok(reader) => reader,
            Err(Error::NotARecording { .. }) if length < MAGIC.len() => continue,
            Err(Error::NoHeader { how: "cut off", .. }) => continue,
            Err(error) => panic!("{length} bytes: {error}"),
        };
        opened += 1;
        let events: Vec<Event> = reader.by_ref().collect();
        assert!(events.is_empty() || events == recording.events);
        let end = reader.end();
        let notice = end.notice.unwrap_or_else(|| panic!("no notice of {length} bytes"));
        // Complete but for the end: the trailer is the last block.
        assert_eq!((end.trailer, notice.what), (None, Incomplete::CutOff));
        assert_eq!(notice.last_at, events.iter().rev().find_map(Event::at));
    }
    assert!(opened > 500);
}

#[test]
fn every_changed_byte_is_noticed() {
    let recording = recording();
    let bytes = written(&recording);
    for place in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[place] ^= flip;
            let Ok(mut reader) = open(&bytes) else { continue };
            let events: Vec<Event> = reader.by_ref().collect();
            assert!(events.is_empty() || events == recording.events, "byte {place}");
            assert!(reader.end().notice.is_some(), "byte {place}");
        }
    }
}

/// A file with this payload in a block that is whole.
fn with_block(kind: u8, payload: &[u8]) -> Vec<u8> {
    let recording = Recording { events: Vec::new(), ..recording() };
    let mut bytes = written(&recording);
    let mut block = vec![kind];
    block.extend((payload.len() as u32).to_le_bytes());
    block.extend(payload);
    block.extend(crc32fast::hash(&block).to_le_bytes());
    bytes.extend(block);
    bytes
}

#[test]
fn hostile_events_neither_panic_nor_take_memory() {
    // A flush (variant 5) at 0 by thread 0 with 2^63 calls, and a snapshot (9) of as many threads.
    let many = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
    for start in [[5, 0, 0].as_slice(), &[9, 0]] {
        let bytes = with_block(b'E', &[start, &many].concat());
        let mut reader = open(&bytes).unwrap();
        assert_eq!(reader.by_ref().count(), 0);
        assert_eq!(reader.end().notice.unwrap().what, Incomplete::NotUnderstood);
    }
    for payload in [&[0xff; 64][..], &[77], &[0], b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80"] {
        let bytes = with_block(b'E', payload);
        assert_eq!(open(&bytes).unwrap().end().notice.unwrap().what, Incomplete::NotUnderstood);
    }
}

#[test]
fn blocks_of_later_versions_are_passed_over() {
    let bytes = with_block(b'Z', b"whatever");
    let end = open(&bytes).unwrap().end();
    assert!(end.notice.is_none() && end.trailer.is_some());
}

#[test]
fn what_is_not_a_recording_says_so() {
    let said = |bytes: &[u8]| open(bytes).unwrap_err().to_string();
    assert!(said(b"").contains("not a recording"));
    assert!(said(b"#!/bin/sh\necho a script, longer than the magic\n").contains("not a recording"));
    let header = Header { format: 2, recorder: "9.1".to_owned(), ..recording().header };
    let newer = written(&Recording { header, ..recording() });
    assert!(said(&newer).contains("format 2") && said(&newer).contains("9.1"));
    let absent = Reader::open(Path::new("/no/such/file")).unwrap_err().to_string();
    assert!(absent.contains("/no/such/file"), "{absent}");
}

/// A disk with space for this many bytes.
struct Small(usize);

impl io::Write for Small {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = bytes.len().min(self.0);
        self.0 -= written;
        if written == 0 { Err(io::Error::from(io::ErrorKind::StorageFull)) } else { Ok(written) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_said_at_the_end() {
    let recording = long();
    for room in [0, 10, 1_000, 100_000] {
        let mut writer = Writer::new(Small(room), name(), &recording.header, DEFAULT_LIMIT_BYTES);
        recording.events.iter().for_each(|event| writer.event(event));
        writer.end(&recording.trailer);
        let error = writer.finish(None).unwrap_err();
        assert!(matches!(error, Error::Write { .. }), "{error}");
    }
}

#[test]
fn a_file_on_disk_comes_back() {
    let top = tempfile::tempdir().unwrap();
    let path = top.path().join("a.dwell");
    let recording = recording();
    let mut writer = Writer::create(&path, &recording.header, DEFAULT_LIMIT_BYTES).unwrap();
    recording.events.iter().for_each(|event| writer.event(event));
    writer.end(&recording.trailer);
    let kept = writer.finish(None).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), kept.bytes);
    assert!(Reader::open(&path).unwrap().eq(recording.events));
    let refused = Writer::create(&top.path().join("no/such/dir"), &recording.header, 0).unwrap_err();
    assert!(refused.to_string().contains("no/such/dir"), "{refused}");
}
