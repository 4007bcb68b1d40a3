// Looks up one name.
#include <netdb.h>
#include <stdio.h>

int main(void) {
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *a;
    int e = getaddrinfo("cluster.example.org", "443", &hints, &a);
    puts(e ? gai_strerror(e) : "found");
    return e != 0;
}
