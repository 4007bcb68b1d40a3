//! Makes identifiers of 16 random bytes, asked for one at a time or many at a time.
extern "C" {
    fn getrandom(at: *mut u8, n: usize, flags: u32) -> isize;
}

fn fill(b: &mut [u8]) {
    for part in b.chunks_mut(256) {
        assert!(unsafe { getrandom(part.as_mut_ptr(), part.len(), 0) } == part.len() as isize);
    }
}

fn main() {
    let room = if std::env::args().nth(1).as_deref() == Some("kernel") { 16 } else { 4096 };
    let mut buffer = vec![0u8; room];
    let mut at = room;
    let mut version4 = 0u64;
    for _ in 0..350_000 {
        if at == room {
            fill(&mut buffer);
            at = 0;
        }
        let id = &mut buffer[at..at + 16];
        at += 16;
        id[6] = id[6] & 15 | 64;
        let text: String = id.iter().map(|b| format!("{b:02x}")).collect();
        version4 += (text.as_bytes()[12] == b'4') as u64;
    }
    println!("{version4}");
}
