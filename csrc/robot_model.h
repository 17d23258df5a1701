/* The control problem of the robots as the kernels see it, one step of the uniformised chain at a time.
 *
 * A post-decision state (q, r) has q of K pages queued and r of N robots active; in one step a departure has
 * probability depart * 1(q > 0) and an arrival arrive * r. A pre-decision state (x, b) is what an event leaves:
 * x pages, b robots; action 1 goes to (x, b + 1), action 0 to (x, b). Action 1 is forced at (0, 0), so the
 * post-decision state (0, 0) is excluded. Reference: Talim, Liu, Nain and Coffman, Section 3, corrected.
 *
 * Arrays over states are (N + 1, K + 1), robots first: a line is one level of robots.
 */
#ifndef KNAPSOLVE_ROBOT_MODEL_H
#define KNAPSOLVE_ROBOT_MODEL_H

#include <stddef.h>

typedef struct {
    ptrdiff_t robots, buffer; /* N >= 1, K >= 2 */
    double depart, arrive;    /* probabilities a step: mu / nu, and lam / nu for each active robot */
    double empty_cost;        /* cost a step in states with q = 0 */
    double full_cost;         /* cost a step and active robot in states with q = K */
    double active_cost;       /* cost a step and active robot everywhere */
    int cpu;                  /* what cpu_level() answered */
} RobotModel;

#endif
