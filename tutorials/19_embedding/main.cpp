// c++ -std=c++17 -O2 main.cpp net.a -lm -lpthread -o main
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <vector>

#include "net.h"

// The model with its own scratch memory: each thread that calls it needs one.
class Net {
    std::unique_ptr<void, decltype(&std::free)> workspace{std::aligned_alloc(64, 1 << 16), &std::free};

public:
    std::vector<float> operator()(const std::vector<float> &x) {
        std::vector<float> y(3 * 4);
        if (net(x.data(), y.data(), workspace.get(), tvmlite_get_num_threads(), nullptr) != 0)
            throw std::runtime_error("net refused its input");
        return y;
    }
};

int main() {
    std::vector<float> x(3 * 8);
    for (std::size_t i = 0; i < x.size(); i++) x[i] = static_cast<float>(i) / 10;
    for (float value : Net()(x)) std::printf("%.6f\n", value);
}
