/* One class of requests, its mass model, an iteration in O(1): a deque of labels.
 *
 * A label is all mass that was admitted in one iteration. Its stage is the number of iterations
 * since, so that no mass is moved. Memory is full after each iteration; in the next one the oldest
 * label may complete, which frees its weight, and the others grow by a token each. What is free is
 * admitted as a new label; what is missing is taken from the youngest ones, each of which is used
 * up at most once.
 *
 * masses: (trajectories, stages), in place, of starts that fill the memory; stage s weighs
 * first + s tokens.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int run(double *masses, ptrdiff_t trajectories, int stages, double first, long iterations)
{
    unsigned size = 1;
    while (size < (unsigned)stages + 1)
        size *= 2;
    const unsigned mask = size - 1;
    const double last = first + stages - 1;
    double *mass = malloc(size * sizeof *mass);
    long *born = malloc(size * sizeof *born);
    if (!mass || !born) {
        free(mass);
        free(born);
        return 1;
    }
    for (ptrdiff_t t = 0; t < trajectories; t++) {
        double *state = masses + t * stages;
        unsigned old = 0, young = 0; /* labels old, ..., young - 1 are alive */
        double total = 0;
        for (int s = stages - 1; s >= 0; s--)
            if (state[s] > 0) {
                mass[young & mask] = state[s];
                born[young & mask] = -s;
                young++;
                total += state[s];
            }
        for (long n = 1; n <= iterations; n++) {
            double missing = total;
            if (old != young && born[old & mask] + stages == n) {
                const double done = mass[old & mask];
                old++;
                total -= done;
                missing = total - last * done;
            }
            if (missing < 0) {
                const double admitted = -missing / first;
                mass[young & mask] = admitted;
                born[young & mask] = n;
                young++;
                total += admitted;
            }
            while (missing > 0 && old != young) {
                const unsigned end = (young - 1) & mask;
                const double weight = first + (double)(n - born[end]);
                const double held = mass[end] * weight;
                if (held > missing) {
                    const double lost = missing / weight;
                    mass[end] -= lost;
                    total -= lost;
                    break;
                }
                missing -= held;
                total -= mass[end];
                young--;
            }
        }
        memset(state, 0, stages * sizeof *state);
        for (; old != young; old++)
            state[iterations - born[old & mask]] = mass[old & mask];
    }
    free(mass);
    free(born);
    return 0;
}
