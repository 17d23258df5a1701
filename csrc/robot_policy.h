/* Exact evaluation of a policy of the robots' control problem by substitution.
 *
 * Pre-decision states (x, b) with action 1 ("up" states) lead to levels b and b + 1 alone, those with action 0
 * ("down" states) to b and b - 1. Given the values at the down states that up states enter, one pass down the
 * levels gives every up state and one pass up the levels every down state. Those few down states, and the up
 * state Z = (0, highest level that is up at x = 0), are the unknowns: lanes of unit vectors are carried through
 * both passes, the rows met at the unknowns form a dense system, and one scalar pass gives all values.
 * Work O(NK + M^2 K) for M unknowns, plus the caller's dense solution, O(M^3).
 * An up state whose departure leads to a down state that is no unknown shares its target's post-decision state
 * with its left neighbour: the two are one, and the run is a tridiagonal system, solved without subtraction.
 */
#ifndef KNAPSOLVE_ROBOT_POLICY_H
#define KNAPSOLVE_ROBOT_POLICY_H

#include <stddef.h>
#include <stdint.h>

#include "robot_model.h"

enum { POLICY_LANES = 16, POLICY_OK = 0, POLICY_SINGULAR = 1, POLICY_TOO_LARGE = 2 };

/* What is known of one level of a policy before any pass. */
typedef struct {
    int32_t height;        /* states 0 .. height - 1 are up and no others; -1 where the line is no such curve */
    int32_t shared_from;   /* leftmost state that a shared run needs; K + 1 where there is none */
    int32_t up_plain;      /* states 1 .. up_plain are up, in no shared run, and entered by no down state */
    int32_t down_plain;    /* states down_plain .. K - 1 are down and no unknowns */
    int32_t unknowns;      /* how many unknowns have numbers up to this level */
} PolicyLine;

/* A policy and what the passes need to know of it. Arrays with (*) are (N + 1, K + 1). */
typedef struct {
    const uint8_t *action; /* (*) */
    int32_t *slot;         /* (*) down state: its unknown or -1; up state: its row in a store or -1 */
    double *climb;         /* (*) in shared runs: probability to leave to the right */
    double *inverse;       /* (*) in shared runs: 1 / pivot, 0 for the state to their left */
    PolicyLine *lines;     /* (N + 1) */
    ptrdiff_t unknowns, stores;
    ptrdiff_t top;         /* highest level with an up state at x = 0: Z = (0, top), unknown 0 */
    ptrdiff_t low, high;   /* the levels the unit lanes must visit */
} PolicyPlan;

/* Fill the plan of plan->action; at most `limit` unknowns. Returns a status. */
int policy_plan(const RobotModel *model, PolicyPlan *plan, ptrdiff_t limit);

/* Rows of the unknowns. hits (M, M): probability that the next unknown met is j. sources (M, 2): expected cost
 * and steps until then. `line` (K + 1, LANES) and `store` (stores, LANES) are scratch.
 * policy_hits does the columns [first, first + LANES); policy_sources does both sources. */
void policy_hits(const RobotModel *model, const PolicyPlan *plan, ptrdiff_t first, double *line, double *store, double *hits);
void policy_sources(const RobotModel *model, const PolicyPlan *plan, double *line, double *store, double *sources);

/* Values (*) of all pre-decision states, given those of the unknowns (M) and the gain. */
void policy_values(const RobotModel *model, const PolicyPlan *plan, const double *unknown, double gain, double *values);

/* Bias (*) of all post-decision states from the values (*); (0, 0) gets infinity. Returns about the largest |bias|. */
double policy_bias(const RobotModel *model, const double *values, double gain, double *bias);

/* Take the better action wherever it is better by more than `noise`. Returns how many changed, and the most that
 * any gained: where the bias is that of the old policy, it and `noise` bound the span of Tg - g. */
ptrdiff_t policy_improve(const RobotModel *model, const double *bias, double noise, uint8_t *action, double *gained);

#endif
