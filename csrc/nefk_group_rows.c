#include "nefk_group_rows.h"

#include "nefk_group_starts.h"
#include "nefk_search.h"

enum { ROUNDS = 5 /* after which few are left */ };

/* Row by row from item `at` on. */
static nefk_table table_of(const gathered *columns, size_t at, size_t n) {
    const size_t *step = columns->step;
    return (nefk_table){block_of(columns, at), n * step[0], n * step[1], n * step[2], n * step[3]};
}

/* Groups of one size. Returns items answered. */
static double search(const nefk_problem *problem, nefk_tile_space *space, nefk_rows rows) {
    double rounds = 0.0;
    size_t n = rows.last - rows.first;
    for (size_t i = 0; i < n; i += NEFK_ROW_LANES) {
        size_t g = rows.first + i, lanes = n - i < NEFK_ROW_LANES ? n - i : NEFK_ROW_LANES;
        nefk_rounds at = {space->from + g, space->to + g, NULL, NULL, space->at + g, space->met + g, space->cap + g,
                          NULL, NULL, NULL, NULL, NULL};
        rounds += (double)lanes * (double)nefk_instructions_in_use()->search_rows(
            problem->shape, rows.size, lanes, table_of(&space->all, rows.begin + i, n), problem->ceiling, ROUNDS, at,
            NEFK_OWN_TOLERANCE, NEFK_NEAR_SQUARED);
    }
    return rounds * rows.size;
}

size_t nefk_search_rows(const nefk_problem *problem, nefk_tile_space *space, double floor, double *answered) {
    size_t left = 0;
    nefk_fill(space->searched, floor, space->from);
    nefk_fill(space->searched, NEFK_FAR, space->to);
    nefk_fill(space->searched, NEFK_RUNNING, space->met);
    for (size_t r = 0; r < space->searched_rows; r++) {
        nefk_rows rows = space->rows[r];
        if (rows.last - rows.first > 1) *answered += search(problem, space, rows);
    }
    for (size_t g = 0; g < space->searched; g++) {
        space->low[g] = space->high[g] = space->at[g];
        space->group[left] = (uint32_t)g;
        space->at[left] = space->at[g];
        left += space->met[g] != NEFK_MET;
    }
    return left;
}
