/* Calls the library net from many threads for a while, and compares each result with the first.
 *
 *     driver CALLERS SECONDS ROWS COLUMNS OUTPUTS [plain | interface]
 *
 * `plain` calls the function itself, with separate scratch memory for each thread; `interface` calls
 * net_run_tensors. Prints the number of calls, the number of wrong results, and by how many kB the process grew
 * after a tenth of the time. */
#define _GNU_SOURCE 1
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net.h"

static int64_t rows, columns, outputs;
static int plain;
static double until;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static long resident(void) {
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) exit(2);
    fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

typedef struct {
    pthread_t thread;
    int number;
    long calls, wrong;
} Caller;

static int run(const float *x, float *y, void *workspace) {
#ifdef PLAIN
    return net(x, y, workspace, tvmlite_get_num_threads(), NULL);
#else
    int64_t in_shape[2], out_shape[2];
    DLTensor in = {NULL, {1, 0}, 2, {2, 32, 1}, NULL, NULL, 0}, out = in;
    const DLTensor *inputs[1];
    DLTensor *results[1];
    if (plain) return net(x, y, workspace, tvmlite_get_num_threads(), NULL);
    in_shape[0] = out_shape[0] = rows;
    in_shape[1] = columns;
    out_shape[1] = outputs;
    in.data = (void *)x;
    in.shape = in_shape;
    out.data = y;
    out.shape = out_shape;
    inputs[0] = &in;
    results[0] = &out;
    return net_run_tensors(inputs, 1, results, 1);
#endif
}

static void *call(void *given) {
    Caller *caller = given;
    size_t in = (size_t)(rows * columns), out = (size_t)(rows * outputs);
    float *x = malloc(in * sizeof *x), *y = malloc(out * sizeof *y), *first = malloc(out * sizeof *y);
    void *workspace = aligned_alloc(64, 1 << 22);
    for (size_t i = 0; i < in; i++) x[i] = (float)((i + (size_t)caller->number) % 13) / 8 - 0.5f;
    if (run(x, first, workspace) != 0) exit(3);
    while (now() < until) {
        memset(y, 0, out * sizeof *y);
        if (run(x, y, workspace) != 0) exit(3);
        caller->wrong += memcmp(y, first, out * sizeof *y) != 0;
        caller->calls++;
    }
    free(workspace);
    free(first);
    free(y);
    free(x);
    return NULL;
}

int main(int count, char **words) {
    Caller callers[64];
    long calls = 0, wrong = 0, before;
    int number;
    double seconds;
    if (count != 7) return 2;
    number = atoi(words[1]);
    seconds = atof(words[2]);
    rows = atol(words[3]);
    columns = atol(words[4]);
    outputs = atol(words[5]);
    plain = strcmp(words[6], "plain") == 0;
    if (number < 1 || number > 64) return 2;
    until = now() + seconds;
    for (int k = 0; k < number; k++) {
        callers[k].number = k;
        callers[k].calls = callers[k].wrong = 0;
        if (pthread_create(&callers[k].thread, NULL, call, &callers[k]) != 0) return 2;
    }
    usleep((unsigned)(seconds * 1e5));
    before = resident();
    for (int k = 0; k < number; k++) {
        pthread_join(callers[k].thread, NULL);
        calls += callers[k].calls;
        wrong += callers[k].wrong;
    }
    printf("%ld %ld %ld\n", calls, wrong, resident() - before);
    return wrong != 0;
}
