/* A client and a server over loopback; the server sleeps 20 ms on each of ten requests. */
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	char byte = 0;
	if (bind(listener, (void *)&address, size) || listen(listener, 1) || getsockname(listener, (void *)&address, &size))
		return 1;
	if (fork() == 0) {
		int peer = accept(listener, 0, 0);
		while (read(peer, &byte, 1) == 1) {
			nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, 0);
			if (write(peer, &byte, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	int server = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(server, (void *)&address, size))
		return 1;
	for (int i = 0; i < 10; i++)
		if (write(server, &byte, 1) != 1 || read(server, &byte, 1) != 1)
			return 1;
	close(server);
	return wait(0) < 0;
}
