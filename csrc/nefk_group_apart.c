#include "nefk_group_apart.h"

size_t nefk_take_apart(nefk_tile_space *space, int bounded, const double *starts, size_t groups,
                         size_t *n_rows) {
    uint32_t at = 0;
    *n_rows = 0;
    share_scalars(space);
    for (size_t k = 0, r = 0, last; k < groups; k = last) {
        while (space->rows[r].last <= space->group[k]) r++;
        nefk_rows rows = space->rows[r];
        size_t n = rows.last - rows.first;
        for (last = k; last < groups && space->group[last] < rows.last;) last++;
        space->part_rows[(*n_rows)++] = (nefk_rows){(uint32_t)k, (uint32_t)last, at, rows.size};
        for (size_t c = 0; n == 1 && c < NEFK_COLUMNS; c++)
            if (space->all.step[c])
                memcpy(space->part.entries[c] + at, space->all.entries[c] + rows.begin, rows.size * sizeof *starts);
        if (n == 1) memcpy(space->starts + at, starts + rows.begin, rows.size * sizeof *starts);
        for (size_t j = 0; n > 1 && j < rows.size; j++) {
            size_t from = rows.begin + j * n - rows.first, to = at + j * (last - k) - k;
            for (size_t c = 0; c < NEFK_COLUMNS; c++) {
                if (!space->all.step[c]) continue;
                for (size_t i = k; i < last; i++)
                    space->part.entries[c][to + i] = space->all.entries[c][from + space->group[i]];
            }
            for (size_t i = k; i < last; i++) space->starts[to + i] = starts[from + space->group[i]];
        }
        for (size_t i = k; i < last; i++) {
            space->part_offset[i] = (uint32_t)(at + (i - k));
            space->part_stride[i] = (uint32_t)(last - k);
        }
        at += (uint32_t)(rows.size * (last - k));
    }
    for (size_t c = 0; c < NEFK_COLUMNS; c++) /* what rows are read of */
        if (!space->part.step[c] && (c == 0 || (c > 1 && bounded)))
            nefk_fill(at + NEFK_ROW_LANES, space->part.entries[c][0], space->part.entries[c]);
    for (size_t k = 0; k < groups; k++) {
        size_t g = space->group[k];
        space->target[k] = space->cap[g];
        space->at[k] = space->at[g];
        space->top[k] = space->top[g];
    }
    return at;
}

void nefk_put_back(nefk_tile_space *space, const double *x, size_t groups) {
    for (size_t k = 0, r = 0; k < groups; r++) {
        nefk_rows part = space->part_rows[r];
        size_t offset = space->offset[space->group[k]], stride = space->stride[space->group[k]];
        size_t n = part.last - part.first;
        double *to = space->x + offset - space->group[k]; /* an item of group g is at to[g], and so on */
        if (stride == 1) memcpy(space->x + offset, x + part.begin, part.size * sizeof *x);
        for (size_t j = 0; stride > 1 && j < part.size; j++)
            for (size_t i = 0; i < n; i++)
                to[space->group[k + i] + j * stride] = x[part.begin + j * n + i];
        k = part.last;
    }
}
