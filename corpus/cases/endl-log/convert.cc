// Converts 90,000 records to lines of text.
#include <cstring>
#include <fstream>
#include <iostream>

static void convert(std::ostream &out, unsigned i, bool flush) {
    unsigned h = i;
    for (int k = 0; k < 1500; k++) h = h * 1664525 + 1013904223;
    out << "read" << i << '\t' << h % 97 << '\t' << h;
    if (flush) out << std::endl;
    else out << '\n';
}

int main(int argc, char **argv) {
    bool flush = argc > 1 && !strcmp(argv[1], "endl");
    std::ofstream out("out.sam");
    for (unsigned i = 0; i < 90000; i++) convert(out, i, flush);
    out.close();
    std::ifstream in("out.sam", std::ios::ate);
    std::cout << in.tellg() << '\n';
}
