/* From the values of a policy of the robots' control problem to a better policy. Arrays are (N + 1, K + 1); O(NK). */
#ifndef KNAPSOLVE_ROBOT_IMPROVE_H
#define KNAPSOLVE_ROBOT_IMPROVE_H

#include <stdint.h>

#include "robot_model.h"

/* Bias of all post-decision states from the values; (0, 0) gets infinity. Returns about the largest |bias|. */
double policy_bias(const RobotModel *model, const double *values, double gain, double *bias);

/* Take the better action wherever it is better by more than `noise`. Returns how many changed, and the most that
 * any gained: where the bias is that of the old policy, it and `noise` bound the span of Tg - g. */
ptrdiff_t policy_improve(const RobotModel *model, const double *bias, double noise, uint8_t *action, double *gained);

#endif
