/* Executes a program with one system call refused: refuse CALL PROGRAM [ARGUMENT…] */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *name;
	unsigned number;
} CALLS[] = {
#ifdef SYS_poll
	{ "poll", SYS_poll },
#else
	{ "poll", SYS_ppoll },
#endif
	{ "mprotect", SYS_mprotect },
	{ "rt_sigaction", SYS_rt_sigaction },
	{ "clock_gettime", SYS_clock_gettime },
	{ "mmap", SYS_mmap },
	{ "bpf", SYS_bpf },
	{ "perf_event_open", SYS_perf_event_open },
	{ "ptrace", SYS_ptrace },
	{ "clone3", SYS_clone3 },
	{ "pidfd_open", SYS_pidfd_open },
	{ "sched_setaffinity", SYS_sched_setaffinity },
	{ "sched_getaffinity", SYS_sched_getaffinity },
	{ "clock_nanosleep", SYS_clock_nanosleep },
	{ "nanosleep", SYS_nanosleep },
	{ "prctl", SYS_prctl },
	{ "getrandom", SYS_getrandom },
	{ "seccomp", SYS_seccomp },
	{ "socket", SYS_socket },
	{ "timerfd_create", SYS_timerfd_create },
	{ "eventfd2", SYS_eventfd2 },
	{ "epoll_create1", SYS_epoll_create1 },
	{ "statx", SYS_statx },
	{ "memfd_create", SYS_memfd_create },
	{ "pipe2", SYS_pipe2 },
	{ "signalfd4", SYS_signalfd4 },
	{ "mlock", SYS_mlock },
	{ "fstatfs", SYS_fstatfs },
	{ "sched_setscheduler", SYS_sched_setscheduler },
};

int main(int count, char **words)
{
	for (unsigned i = 0; count > 2 && i < sizeof CALLS / sizeof *CALLS; i++) {
		if (strcmp(words[1], CALLS[i].name))
			continue;
		struct sock_filter filter[] = {
			BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, CALLS[i].number, 0, 1),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		};
		struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) {
			perror("seccomp");
			return 1;
		}
		execv(words[2], words + 2);
		perror("execv");
		return 1;
	}
	fprintf(stderr, "no such call\n");
	return 1;
}
