/* Exact evaluation of a policy of the robots' control problem by substitution.
 *
 * Pre-decision states (x, b) with action 1 ("up" states) lead to levels b and b + 1 alone, those with action 0
 * ("down" states) to b and b - 1. Given the values at the down states that up states enter, one pass down the
 * levels gives every up state and one pass up the levels every down state. Those few down states, and the up
 * state Z = (0, highest level that is up at x = 0), are the unknowns: lanes of unit vectors are carried through
 * both passes, the rows met at the unknowns form a dense system, and one scalar pass gives all values.
 * Work O(NK + M^2 K) for M unknowns, plus the caller's dense solution, O(M^3).
 */
#ifndef KNAPSOLVE_ROBOT_POLICY_H
#define KNAPSOLVE_ROBOT_POLICY_H

#include "robot_plan.h"

enum { POLICY_LANES = 16 };

/* Rows of the unknowns. hits (M, M): probability that the next unknown met is j. sources (M, 2): expected cost
 * and steps until then. `line` (K + 1, LANES) and `store` (stores, LANES) are scratch.
 * policy_hits does the columns [first, first + LANES); policy_sources does both sources. */
void policy_hits(const RobotModel *model, const PolicyPlan *plan, ptrdiff_t first, double *line, double *store, double *hits);
void policy_sources(const RobotModel *model, const PolicyPlan *plan, double *line, double *store, double *sources);

/* Values (*) of all pre-decision states, given those of the unknowns (M) and the gain. */
void policy_values(const RobotModel *model, const PolicyPlan *plan, const double *unknown, double gain, double *values);

#endif
