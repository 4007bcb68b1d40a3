// Moves 300 bodies, 1,500 steps.
#include <cmath>
#include <cstdio>
#include <vector>

struct Body { double x, y, vx, vy, m; };

int main() {
    std::vector<Body> b(300);
    for (int i = 0; i < 300; i++) b[i] = {std::cos(i) * i, std::sin(i) * i, 0, 0, 1.0 + i % 3};
    for (int s = 0; s < 1500; s++) {
        for (auto &p : b)
            for (const auto &q : b) {
                double dx = q.x - p.x, dy = q.y - p.y, d = dx * dx + dy * dy + 1;
                double f = q.m / (d * std::sqrt(d)) * 0.01;
                p.vx += dx * f;
                p.vy += dy * f;
            }
        for (auto &p : b) p.x += p.vx * 0.01, p.y += p.vy * 0.01;
    }
    printf("%.9g\n", b[7].x);
}
