/* Sweeps of relative value iteration over the post-decision states of the robots' control problem.
 *
 * Tg(q, r) = c(q, r) + depart 1(q > 0) min(g(q-1, r), g(q-1, R)) + arrive r min(g(q+, r-1), g(q+, r))
 *            + (1 - depart 1(q > 0) - arrive r) g(q, r),   R = min(r + 1, N), q+ = min(q + 1, K),
 * the paper's operator (Proposition 4) after its exact collapse from (q, r, s) to (q, r). Arrays are (N + 1, K + 1);
 * g(0, 0) is infinite, which forces action 1 where it must be taken. A sweep costs one pass over the states.
 */
#ifndef KNAPSOLVE_ROBOT_SWEEP_H
#define KNAPSOLVE_ROBOT_SWEEP_H

#include "robot_model.h"

/* Largest and smallest (Tg - g)(q, r), taken by differences, each moved outwards by a bound of its rounding:
 * the least average cost lies between them (Puterman, Theorem 8.5.5). */
void robot_bounds(const RobotModel *model, const double *bias, double *lower, double *upper);

/* `sweeps` times g <- (1 - step) g + step (Tg - Tg(1, 1)), which keeps g(1, 1) = 0 after the first. The result is in
 * `bias` when `sweeps` is even, else in `other`; `best` (2, K + 1) is scratch. */
void robot_sweeps(const RobotModel *model, double step, ptrdiff_t sweeps, double *bias, double *other, double *best);

#endif
