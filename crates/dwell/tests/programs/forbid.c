/*
 * Executes a program that may not make the calls by which dwell observes: forbid ERRNO PROGRAM
 * [ARGUMENT...]. As the filters of container runtimes do: Docker answers with EPERM, Podman with
 * ENOSYS, others with EACCES.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned forbidden[] = {
	SYS_bpf, SYS_perf_event_open, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev, SYS_kcmp,
};
#define COUNT (sizeof forbidden / sizeof *forbidden)

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "forbid ERRNO PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	struct sock_filter lines[COUNT + 3];
	unsigned at = 0;
	lines[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < COUNT; i++)
		lines[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, forbidden[i], COUNT - i, 0);
	lines[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	lines[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | atoi(argv[1]));
	struct sock_fprog program = { at, lines };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)) {
		perror("forbid");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
