/*
 * Executes a program to which the kernel refuses some of bpf(2): refuse_bpf WHAT PROGRAM [ARGUMENT…]
 *
 *   NAME[,NAME…]      the loading of BPF programs whose names begin so (the kernel has 15 letters)
 *   random:SEED:MANY  that of one in MANY, by their names and the seed
 *   when:FILE         all calls, from the moment on at which the file is there
 *   mute:NAME[,NAME…] none: these are loaded, and what they are attached to is nothing
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
	/* The loader tries what the kernel can do, with programs that have no name. */
	if (!*name)
		return 0;
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

/* The process of a thread. */
static pid_t leader_of(pid_t thread)
{
	char path[64], line[128];
	int leader = thread;
	snprintf(path, sizeof path, "/proc/%d/status", thread);
	FILE *status = fopen(path, "re");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "Tgid: %d", &leader) == 1)
			break;
	if (status)
		fclose(status);
	return leader;
}

/* Whether the program that is to be attached has one of these names. */
static int is_mute(const char *what, const struct seccomp_notif *asked)
{
	char path[64];
	union bpf_attr attr = {}, info_of = {};
	struct bpf_prog_info info = {};
	if (strncmp(what, "mute:", 5) || asked->data.args[0] != BPF_RAW_TRACEPOINT_OPEN)
		return 0;
	snprintf(path, sizeof path, "/proc/%d/mem", asked->pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = asked->data.args[2] < sizeof attr ? asked->data.args[2] : sizeof attr;
	ssize_t got = memory < 0 ? -1 : pread(memory, &attr, size, asked->data.args[1]);
	close(memory);
	int process = got > 0 ? syscall(SYS_pidfd_open, asked->pid, 0) : -1;
	/* The call may come from a thread, which has no such descriptor: its process has. */
	if (process < 0 && got > 0)
		process = syscall(SYS_pidfd_open, leader_of(asked->pid), 0);
	int program = process < 0 ? -1 : syscall(SYS_pidfd_getfd, process, attr.raw_tracepoint.prog_fd, 0);
	info_of.info.bpf_fd = program;
	info_of.info.info_len = sizeof info;
	info_of.info.info = (unsigned long)&info;
	int known = program >= 0 && !syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &info_of, sizeof info_of);
	close(program);
	close(process);
	return known && is_refused(what + 5, info.name);
}

/* The call has given a descriptor: of nothing that ever calls the program. */
static void attach_to_nothing(int asker, const struct seccomp_notif *asked)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct seccomp_notif_addfd given = { .id = asked->id, .srcfd = nothing, .newfd_flags = O_CLOEXEC,
					     .flags = SECCOMP_ADDFD_FLAG_SEND };
	ioctl(asker, SECCOMP_IOCTL_NOTIF_ADDFD, &given);
	close(nothing);
}

static void answer_all(const char *what, int asker)
{
	for (;;) {
		struct seccomp_notif asked = {};
		if (ioctl(asker, SECCOMP_IOCTL_NOTIF_RECV, &asked))
			continue;
		if (is_mute(what, &asked)) {
			attach_to_nothing(asker, &asked);
			continue;
		}
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
	/* Before the filter, so that who answers may call bpf(2) itself. */
	int number[2];
	pid_t parent = getpid();
	if (pipe2(number, O_CLOEXEC))
		return 2;
	pid_t child = fork();
	if (!child) {
		int theirs, process = syscall(SYS_pidfd_open, parent, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent || read(number[0], &theirs, sizeof theirs) != sizeof theirs)
			return 0;
		int asker = syscall(SYS_pidfd_getfd, process, theirs, 0);
		if (asker < 0) {
			perror("pidfd_getfd");
			kill(parent, SIGKILL);
			return 2;
		}
		answer_all(words[1], asker);
		return 0;
	}
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	int asker = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (asker < 0) {
		perror("seccomp");
		return 2;
	}
	/* It is closed when the next program begins, and the other's stays. */
	fcntl(asker, F_SETFD, FD_CLOEXEC);
	if (write(number[1], &asker, sizeof asker) != sizeof asker)
		return 2;
	/* The other has it before it is closed. */
	usleep(20000);
	execvp(words[2], words + 2);
	perror(words[2]);
	return 2;
}
