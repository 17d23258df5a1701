/* What the passes of robot_policy.h need to know of a policy before they start.
 *
 * An up state (action 1) whose departure leads to a down state that is no unknown shares its target's
 * post-decision state with its left neighbour: the two are one, and the run of such states is a tridiagonal
 * system, eliminated here from left to right without subtraction.
 * Invariant: every down state that an up state enters is an unknown or in no need of being one for that reason.
 * Work O(N) where the policy is a switching curve, else O(NK), plus the memory cleared.
 */
#ifndef KNAPSOLVE_ROBOT_PLAN_H
#define KNAPSOLVE_ROBOT_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "robot_model.h"

enum { POLICY_OK = 0, POLICY_SINGULAR = 1, POLICY_TOO_LARGE = 2 };

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

#endif
