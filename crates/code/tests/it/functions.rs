//! Functions of real images: found by name and address, with the code that the file has for them.

use dwell_code::Image;
use std::fs::{self, File};
use std::process::Command;

const SOURCE: &str = "
    __attribute__((noinline)) int sort(int *a, int n) {
        int swaps = 0;
        for (int i = 1; i < n; i++)
            for (int k = i; k > 0 && a[k - 1] > a[k]; k--) { int t = a[k]; a[k] = a[k - 1]; a[k - 1] = t; swaps++; }
        return swaps;
    }
    int main(int c, char **v) { int a[] = {3, 1, 2}; return sort(a, 3) + c; }";

#[test]
fn a_function_is_found_by_name_and_address_where_nm_says() {
    let dir = tempfile::tempdir().unwrap();
    let (source, path) = (dir.path().join("a.c"), dir.path().join("a"));
    fs::write(&source, SOURCE).unwrap();
    assert!(Command::new("cc").arg("-O1").arg("-o").arg(&path).arg(&source).status().unwrap().success());
    let data = fs::read(&path).unwrap();
    let image = Image::open(File::open(&path).unwrap()).unwrap();
    let listed = Command::new("nm").arg("-S").arg(&path).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    for name in ["sort", "main"] {
        let found = image.find(name);
        assert_eq!(found.len(), 1, "{found:?}");
        let function = &found[0];
        let line =
            format!("{:016x} {:016x} T {name}", function.code.start, function.code.end - function.code.start);
        assert!(listed.lines().any(|listed| listed == line), "{line} in\n{listed}");
        assert_eq!(image.at(function.code.start + 3).as_ref(), Some(function));
        let code = image.code(&function.code).unwrap();
        let offset = image.offset_of(function.code.start).unwrap();
        assert_eq!(&data[offset as usize..][..code.len()], code);
        assert_eq!(image.address_of(offset), Some(function.code.start));
        assert_eq!(image.bytes_at(function.code.start, 4).unwrap(), code[..4]);
    }
    assert!(image.needs("libc.so") && !image.needs("libpython"));
    assert!(image.code(&(1 << 40..(1 << 40) + 4)).is_err());
}

#[test]
fn this_test_itself_is_found_by_its_name_in_the_source() {
    let image = Image::open(File::open("/proc/self/exe").unwrap()).unwrap();
    let found = image.find("functions::kept_whole");
    assert!(found.iter().any(|function| function.name.contains("kept_whole")), "{found:?}");
    assert!(!image.code(&found[0].code).unwrap().is_empty());
    assert_eq!(kept_whole(1), 2);
}

/// One of these tests looks for it.
#[inline(never)]
fn kept_whole(n: u32) -> u32 {
    std::hint::black_box(n) + 1
}
