// Functions that sign their return addresses, for a test of unwinding on any machine:
//   aarch64-linux-gnu-gcc -O2 -fomit-frame-pointer -mbranch-protection=pac-ret -fno-inline \
//     -nostdlib -static -Wl,-z,max-page-size=4096,--build-id=none -o signed signed.c
//   aarch64-linux-gnu-strip -R .comment signed
__attribute__((noipa)) int leaf(int n) { volatile int room[10]; room[n & 7] = n; return room[3]; }
__attribute__((noipa)) int middle(int n) {
    volatile long room[20];
    room[n & 7] = n;
    return leaf(n) + room[1];
}
__attribute__((noipa)) int outer(int n) { return middle(n) + 1; }
void _start(void) { outer(3); for (;;) {} }
