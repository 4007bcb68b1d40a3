// Counts the lines that match a pattern, which is compiled for each line or once.
#include <cstdio>
#include <cstring>
#include <fstream>
#include <regex>
#include <string>

static const char *pattern = "(first|second|third|[0-9]+7)[a-z]*";

static bool match(const std::string &line) {
    std::regex r(pattern);
    return std::regex_search(line, r);
}

static bool match_with(const std::string &line, const std::regex &r) {
    return std::regex_search(line, r);
}

int main(int argc, char **argv) {
    bool each = argc > 1 && !strcmp(argv[1], "line");
    std::ifstream in("lines");
    std::regex once(pattern);
    std::string line;
    int n = 0;
    while (std::getline(in, line)) n += each ? match(line) : match_with(line, once);
    printf("%d\n", n);
}
