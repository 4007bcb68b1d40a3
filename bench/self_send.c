/* Sends a byte over the loopback to itself and reads it, N times: short calls, each send with the
 * softirq that receives. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 100000;
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int one = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;

	if (bind(listener, (void *)&at, len) || listen(listener, 1))
		return 1;
	getsockname(listener, (void *)&at, &len);
	if (connect(one, (void *)&at, len))
		return 1;
	int other = accept(listener, 0, 0);
	for (long i = 0; i < rounds; i++) {
		if (send(one, &byte, 1, 0) != 1 || recv(other, &byte, 1, 0) != 1)
			return 1;
	}
	return 0;
}
