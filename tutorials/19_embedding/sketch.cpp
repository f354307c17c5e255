// A sketch for a microcontroller, to compile with net.c of target="c -system=none": no heap, one arena.
#include "net.h"

float readSensor(int channel);        // provided by the board
void report(int index, float value);  // provided by the board

static float x[3 * 8], y[3 * 4];

void setup() {}

void loop() {
    for (int i = 0; i < 3 * 8; i++) x[i] = readSensor(i);
    if (net_run(x, y) != 0) return;
    for (int i = 0; i < 3 * 4; i++) report(i, y[i]);
}
