// Prints 300 edges of a graph that takes long to compute.
#include <cstring>
#include <iostream>

static unsigned long edge(unsigned long i) {
    for (int k = 0; k < 2000000; k++) i = i * 6364136223846793005UL + 1442695040888963407UL;
    return i;
}

int main(int argc, char **argv) {
    bool flush = argc > 1 && !strcmp(argv[1], "endl");
    for (int i = 0; i < 300; i++) {
        std::cout << "node" << i << " -> node" << edge(i) % 300;
        if (flush) std::cout << std::endl;
        else std::cout << '\n';
    }
}
