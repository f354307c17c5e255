// c++ -std=c++17 -O2 tensors.cpp net.so -Wl,-rpath,'$ORIGIN' -lpthread -o tensors
//
// Calls the model with DLPack's arrays from several threads, each of which provides its own scratch memory.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "net.h"

// A dense array of floats with its shape; tensor() returns the view of both that DLPack defines.
struct Array {
    std::vector<std::int64_t> shape;
    std::vector<float> data;

    explicit Array(std::vector<std::int64_t> extents) : shape(std::move(extents)), data(count()) {}

    DLTensor tensor() {
        return {data.data(), {1, 0}, static_cast<std::int32_t>(shape.size()), {2, 32, 1}, shape.data(), nullptr, 0};
    }

private:
    std::size_t count() const {
        std::size_t product = 1;
        for (std::int64_t extent : shape) product *= static_cast<std::size_t>(extent);
        return product;
    }
};

class Net {
    std::int64_t bytes = 0;
    void *workspace = nullptr;

public:
    Net() = default;
    Net(const Net &) = delete;
    Net &operator=(const Net &) = delete;
    ~Net() { std::free(workspace); }

    void operator()(Array &x, Array &y) {
        DLTensor input = x.tensor(), output = y.tensor();
        const DLTensor *inputs[] = {&input};
        DLTensor *outputs[] = {&output};
        std::int32_t code = net_run_tensors_in(inputs, 1, outputs, 1, workspace, &bytes);
        if (code == TVMLITE_TOO_SMALL) {  // bytes is now the required size
            std::free(workspace);
            bytes = (bytes + 63) / 64 * 64;
            workspace = std::aligned_alloc(64, static_cast<std::size_t>(bytes));
            if (workspace == nullptr) throw std::bad_alloc();
            code = net_run_tensors_in(inputs, 1, outputs, 1, workspace, &bytes);
        }
        if (code != TVMLITE_OK) throw std::runtime_error(net_last_error());
    }
};

int main() {
    std::fprintf(stderr, "%d threads, for processors of level %s\n", net_num_threads(), net_cpu_level());
    std::vector<Array> results(4, Array({3, 4}));
    std::vector<std::thread> threads;
    for (Array &y : results) {
        threads.emplace_back([&y] {
            Net model;
            Array x({3, 8});
            for (std::size_t i = 0; i < x.data.size(); i++) x.data[i] = static_cast<float>(i) / 10;
            for (int run = 0; run < 100; run++) model(x, y);
        });
    }
    for (std::thread &one : threads) one.join();
    for (Array &y : results) {
        if (y.data != results[0].data) return 1;
    }
    for (float value : results[0].data) std::printf("%.6f\n", value);
}
