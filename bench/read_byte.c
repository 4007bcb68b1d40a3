/* Reads one byte at a time from /dev/zero, COUNT times: little more than the cost of a system
 * call. */
#include "result.h"
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1000000;
	int fd = open("/dev/zero", O_RDONLY);
	char byte;

	if (fd < 0) {
		perror("/dev/zero");
		return 1;
	}
	double begun = now_ns();
	for (long i = 0; i < count; i++)
		if (read(fd, &byte, 1) != 1)
			return 1;
	return report((now_ns() - begun) / count);
}
