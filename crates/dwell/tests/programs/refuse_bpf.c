/*
 * Executes a program to which the kernel refuses some of bpf(2): refuse_bpf WHAT PROGRAM [ARGUMENT…]
 *
 *   NAME[,NAME…]      the loading of BPF programs whose names begin so (the kernel has 15 letters)
 *   random:SEED:MANY  that of one in MANY, by their names and the seed
 *   when:FILE         all calls, from the moment on at which the file is there
 *
 * As a verifier does: EINVAL, and a line in the log. The calls come to the child of this program,
 * by a filter of system calls that asks (seccomp_unotify(2)).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char LOG[] = "R2 refused for a test\nprocessed 0 insns (limit 1000000)\n";

/* Its name is one of these, or one of so many by chance. */
static int is_refused(const char *what, const char *name)
{
	if (!strncmp(what, "random:", 7)) {
		char *rest;
		unsigned long hash = strtoul(what + 7, &rest, 10) * 2654435761ul;
		unsigned long many = strtoul(rest + 1, 0, 10);
		for (; *name; name++)
			hash = (hash ^ (unsigned char)*name) * 1099511628211ul;
		return many && (hash >> 20) % many == 0;
	}
	while (*what) {
		size_t length = strcspn(what, ",");
		size_t most = length < 15 ? length : 15;
		if (most && !strncmp(what, name, most))
			return 1;
		what += length + (what[length] == ',');
	}
	return 0;
}

/* The error that the call is answered with; 0 where the kernel is to do it. */
static int answer(const char *what, const struct seccomp_notif *asked)
{
	if (!strncmp(what, "when:", 5))
		return access(what + 5, F_OK) ? 0 : EPERM;
	if (asked->data.args[0] != BPF_PROG_LOAD)
		return 0;
	char path[64];
	union bpf_attr attr = {};
	snprintf(path, sizeof path, "/proc/%d/mem", asked->pid);
	int memory = open(path, O_RDWR | O_CLOEXEC);
	if (memory < 0)
		return 0;
	size_t size = asked->data.args[2] < sizeof attr ? asked->data.args[2] : sizeof attr;
	int error = 0;
	if (pread(memory, &attr, size, asked->data.args[1]) > 0 && is_refused(what, attr.prog_name)) {
		error = EINVAL;
		if (attr.log_buf && attr.log_size > sizeof LOG && attr.log_level)
			error = pwrite(memory, LOG, sizeof LOG, attr.log_buf) < 0 ? EFAULT : EINVAL;
	}
	close(memory);
	return error;
}

static void answer_all(const char *what, int asker)
{
	for (;;) {
		struct seccomp_notif asked = {};
		if (ioctl(asker, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			continue;
		struct seccomp_notif_resp said = { .id = asked.id, .error = -answer(what, &asked) };
		if (!said.error)
			said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
		ioctl(asker, SECCOMP_IOCTL_NOTIF_SEND, &said);
	}
}

int main(int count, char **words)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof filter / sizeof *filter, filter };
	if (count < 3) {
		fprintf(stderr, "refuse_bpf WHAT PROGRAM [ARGUMENT...]\n");
		return 2;
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int asker = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (asker < 0) {
		perror("seccomp");
		return 2;
	}
	pid_t parent = getpid();
	pid_t child = fork();
	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			answer_all(words[1], asker);
		return 0;
	}
	close(asker);
	execvp(words[2], words + 2);
	perror(words[2]);
	return 2;
}
