// Sorts the lines of 60 catalogues by their text.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

static std::vector<std::string> lines(unsigned state, unsigned count)
{
    std::vector<std::string> all;
    for (unsigned i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        char line[48];
        std::snprintf(line, sizeof line, "%c%08x/library", 'a' + state % 26, state);
        all.push_back(line);
    }
    return all;
}

static bool before_by_value(std::string a, std::string b) { return a < b; }

static bool before_by_reference(const std::string &a, const std::string &b) { return a < b; }

int main(int argc, char **argv)
{
    bool reference = argc > 1 && !std::strcmp(argv[1], "reference");
    for (unsigned catalogue = 0; catalogue < 60; catalogue++) {
        auto all = lines(catalogue, 9000);
        if (reference)
            std::sort(all.begin(), all.end(), before_by_reference);
        else
            std::sort(all.begin(), all.end(), before_by_value);
        if (catalogue % 20 == 0)
            std::printf("%s %s\n", all.front().c_str(), all.back().c_str());
    }
}
