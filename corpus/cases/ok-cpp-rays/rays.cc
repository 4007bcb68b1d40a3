#include <cmath>
#include <cstdio>
#include <vector>

struct Ball {
    double x, y, z, r;
};

static double nearest(const std::vector<Ball> &balls, double dx, double dy) {
    double best = 1e9, length = std::sqrt(dx * dx + dy * dy + 1);
    for (const Ball &ball : balls) {
        double along = (ball.x * dx + ball.y * dy + ball.z) / length;
        double apart = ball.x * ball.x + ball.y * ball.y + ball.z * ball.z - along * along;
        if (apart < ball.r * ball.r && along > 0) best = std::fmin(best, along - std::sqrt(ball.r * ball.r - apart));
    }
    return best;
}

int main() {
    std::vector<Ball> balls;
    for (int i = 0; i < 60; i++) balls.push_back({std::sin(i) * 4, std::cos(i * 1.7) * 3, 5.0 + i % 9, 0.7});
    long hits = 0;
    for (int pass = 0; pass < 8; pass++)
        for (int y = 0; y < 400; y++)
            for (int x = 0; x < 500; x++) hits += nearest(balls, (x - 250) / 300.0, (y - 200) / 300.0) < 1e8;
    std::printf("%ld\n", hits);
}
