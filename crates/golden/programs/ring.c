/* Waits in io_uring, without its library: timeouts of 5 ms. */
#define _GNU_SOURCE
#include <linux/io_uring.h>
#include <linux/time_types.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
    struct io_uring_params setup = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 4, &setup);
    if (ring < 0)
        return 1;
    int access = PROT_READ | PROT_WRITE;
    size_t size = setup.sq_off.array + setup.sq_entries * sizeof(unsigned);
    size_t cq_size = setup.cq_off.cqes + setup.cq_entries * sizeof(struct io_uring_cqe);
    size = size > cq_size ? size : cq_size;
    char *queue = mmap(0, size, access, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    struct io_uring_sqe *entries = mmap(0, setup.sq_entries * sizeof *entries, access,
                                        MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    unsigned *tail = (unsigned *)(queue + setup.sq_off.tail);
    unsigned *array = (unsigned *)(queue + setup.sq_off.array);
    unsigned *done = (unsigned *)(queue + setup.cq_off.head);
    struct __kernel_timespec time = {0, 5000000};
    for (int i = 0; i < 4; i++) {
        unsigned at = *tail & (setup.sq_entries - 1);
        entries[at] = (struct io_uring_sqe){.opcode = IORING_OP_TIMEOUT, .addr = (unsigned long)&time, .len = 1};
        array[at] = at;
        __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
        if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, 0, 0) < 0)
            return 2;
        __atomic_store_n(done, *done + 1, __ATOMIC_RELEASE);
    }
    return 0;
}
