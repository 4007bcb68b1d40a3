//! Ten downloads one after the other, or six at a time.

use crate::download::{Progress, Url, amount, download};
use crate::server::Service;
use crate::work::in_threads;
use crate::{Need, Pair, Run, Setting, Size, Way, Writing};
use std::io::{self, Write};
use std::sync::Mutex;
use std::time::Instant;

pub(super) static PAIR: Pair = Pair {
    name: "downloads",
    title: "ten downloads one by one, or six at a time",
    cause: Some("serial-requests"),
    size: Size { unit: "downloads", usual: 10, least: 10, most: 12 },
    ways: &[
        Way { name: "one-by-one", what: "each after the last", run: Run::Native(one_by_one) },
        Way { name: "six", what: "by six threads", run: Run::Native(six) },
    ],
    source: include_str!("downloads.rs"),
    needs: &[Need::Server(Service::Requests)],
    lesson: "A small download is mostly distance: a round trip to connect, one for the answer, and the server's own time. \
             Here a server takes 60 ms to answer and sends 1 MB a second on each connection. One by one these add up; \
             six at a time they overlap, until the link is full: then more at a time is no faster \
             (dwell lab link-copy). Another distance: --latency MS --rate BYTES. With your own files: \
             dwell lab downloads --url URL --url URL. Of fewer than eight dwell claims nothing, since they may be the steps of \
             one session, which need each other's answers; nor of more than 64 KiB each, which a link may bound.",
    writing: Some(Writing {
        title: "Understanding latency, a course on optimising Python",
        theirs: "ten files took 3.225 s one after another, and 0.285 s with 6 threads",
    }),
};

/// What the server of the lab sends: how much, after how long, how fast.
const BYTES: u64 = 32_768;
const LATENCY_MS: u64 = 60;
const RATE: u64 = 1_000_000;

fn one_by_one(setting: &Setting) -> io::Result<()> {
    let urls = urls(setting)?;
    let progress = Progress::new(urls.len() as u64);
    all(urls.iter().map(|url| fetch(url, &progress)))
}

fn six(setting: &Setting) -> io::Result<()> {
    let urls = urls(setting)?;
    let progress = Progress::new(urls.len() as u64);
    let (queue, ended) = (Mutex::new(urls.iter()), Mutex::new(Vec::new()));
    in_threads(6, &|| {
        while let Some(url) = next(&queue) {
            put(&ended, fetch(url, &progress));
        }
        Ok(())
    })?;
    all(ended.into_inner().unwrap_or_default().into_iter())
}

/// The user's, or those of the server of the lab.
fn urls(setting: &Setting) -> io::Result<Vec<Url>> {
    if setting.urls.is_empty() {
        let latency_ms = setting.server.latency_ms.unwrap_or(LATENCY_MS);
        let rate = setting.server.rate.unwrap_or(RATE);
        let path = format!("{BYTES}?latency_ms={latency_ms}&rate={rate}");
        let url = Url::read(&format!("http://{}:{}/{path}", setting.host, setting.port))?;
        return Ok(vec![url; setting.size as usize]);
    }
    setting.urls.iter().map(|url| Url::read(url)).collect()
}

/// A line for each.
fn fetch(url: &Url, progress: &Progress) -> io::Result<()> {
    let begun = Instant::now();
    let got = download(url, 0, progress)?;
    let s = begun.elapsed().as_secs_f64();
    let checked = if got.checked { "length and checksum right" } else { "length right" };
    let resumed = if got.resumed > 0 { ", resumed" } else { "" };
    let bytes = got.bytes as f64;
    progress.clear();
    writeln!(
        io::stdout(),
        "{}: {} in {s:.3} s, {}/s, {checked}{resumed}",
        url.text,
        amount(bytes),
        amount(bytes / s)
    )
}

/// All that failed, a line each.
fn all(ended: impl Iterator<Item = io::Result<()>>) -> io::Result<()> {
    let failed: Vec<_> = ended.filter_map(Result::err).map(|error| error.to_string()).collect();
    if failed.is_empty() { Ok(()) } else { Err(io::Error::other(failed.join("\n"))) }
}

fn next<T>(queue: &Mutex<impl Iterator<Item = T>>) -> Option<T> {
    queue.lock().ok()?.next()
}

fn put<T>(all: &Mutex<Vec<T>>, one: T) {
    if let Ok(mut all) = all.lock() {
        all.push(one);
    }
}
