/* cc -std=c99 -O2 tensors.c net.so -Wl,-rpath,'$ORIGIN' -o tensors
 *
 * Calls the model with DLPack's arrays: each array is checked, and an error has a message. */
#include <stdio.h>

#include "net.h"

/* A dense array of floats in main memory. */
static DLTensor floats(float *data, int32_t ndim, int64_t *shape) {
    DLTensor tensor = {data, {1, 0}, ndim, {2, 32, 1}, shape, NULL, 0};
    return tensor;
}

int main(void) {
    float x[3 * 8], y[3 * 4];
    int64_t x_shape[] = {3, 8}, y_shape[] = {3, 4}, wrong_shape[] = {8, 3};
    for (int i = 0; i < 3 * 8; i++) x[i] = (float)i / 10;

    DLTensor input = floats(x, 2, x_shape), output = floats(y, 2, y_shape), wrong = floats(x, 2, wrong_shape);
    const DLTensor *inputs[] = {&input}, *wrong_inputs[] = {&wrong};
    DLTensor *outputs[] = {&output};

    if (net_run_tensors(wrong_inputs, 1, outputs, 1) != TVMLITE_OK) fprintf(stderr, "%s\n", net_last_error());

    if (net_run_tensors(inputs, 1, outputs, 1) != TVMLITE_OK) {
        fprintf(stderr, "%s\n", net_last_error());
        return 1;
    }
    for (int i = 0; i < 3 * 4; i++) printf("%.6f\n", y[i]);
    return 0;
}
