#include "robot_improve.h"

#include <math.h>

double policy_bias(const RobotModel *model, const double *values, double gain, double *bias)
{
    ptrdiff_t N = model->robots, K = model->buffer, W = K + 1, r, q;
    double d = model->depart, largest = 0.0;
    for (r = 0; r <= N; r++) {
        const double *here = values + r * W, *below = r > 0 ? here - W : here;
        double *out = bias + r * W;
        double l = model->arrive * (double)r, share = 1.0 / (d + l), source = (model->active_cost * (double)r - gain) * share;
        double left = d * share, right = l * share;
        out[0] = r > 0 ? below[1] + (model->active_cost * (double)r + model->empty_cost - gain) / l : INFINITY;
        for (q = 1; q < K; q++) out[q] = (left * here[q - 1] + right * below[q + 1]) + source;
        out[K] = (left * here[K - 1] + right * below[K]) + (source + model->full_cost * (double)r * share);
        largest = fmax(largest, fmax(fabs(out[1]), fabs(out[K])));
    }
    return largest;
}

ptrdiff_t policy_improve(const RobotModel *model, const double *bias, double noise, uint8_t *action, double *gained)
{
    ptrdiff_t N = model->robots, W = model->buffer + 1, b, x, changed = 0;
    *gained = 0.0;
    for (b = 0; b < N; b++) {
        const double *stay = bias + b * W, *more = stay + W;
        uint8_t *a = action + b * W;
        for (x = 0; x < W; x++) {
            double preference = more[x] - stay[x];
            uint8_t better = (uint8_t)((preference < -noise) | (a[x] & (preference <= noise)));
            if (better == a[x]) continue;
            *gained = fmax(*gained, fabs(preference));
            a[x] = better;
            changed++;
        }
    }
    return changed;
}
