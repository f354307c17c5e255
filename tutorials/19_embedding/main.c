/* cc -std=c11 -O2 main.c net.a -lm -lpthread -o main */
#include <stdio.h>
#include <stdlib.h>

#include "net.h"

int main(void) {
    float x[3 * 8], y[3 * 4];
    void *workspace = aligned_alloc(64, 1 << 16); /* net.h gives the required size */
    if (workspace == NULL) return 1;
    for (int i = 0; i < 3 * 8; i++) x[i] = (float)i / 10;
    int32_t code = net(x, y, workspace, tvmlite_get_num_threads(), NULL);
    for (int i = 0; i < 3 * 4 && code == 0; i++) printf("%.6f\n", y[i]);
    free(workspace);
    return code;
}
