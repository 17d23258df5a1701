/* Functions of rows (m, n) for one vector width: of NEFK_ROW_LANES groups, an entry of each in every row; item j of
 * the l-th group is at j n + l. Included once for each width, with its NAME(function), WIDTH in doubles and TARGET
 * attribute: compilers keep neither the lanes of plain loops in registers nor comparisons of doubles as masks.
 */

typedef double NAME(reals) __attribute__((vector_size(8 * WIDTH)));
typedef double NAME(stored) __attribute__((vector_size(8 * WIDTH), aligned(8), may_alias));
typedef int64_t NAME(masks) __attribute__((vector_size(8 * WIDTH)));

#define REALS NAME(reals)
#define MASKS NAME(masks)
#define LOAD(from) ((REALS) *(const NAME(stored) *)(from))
#define STORE(to, x) (*(NAME(stored) *)(to) = (x))
#define WHERE(mask, x) ((REALS)((MASKS)(x) & (mask)))
#define CHOOSE(mask, x, y) ((REALS)(((MASKS)(x) & (mask)) | ((MASKS)(y) & ~(mask))))
#define SIZE(x) ((REALS)((MASKS)(x) & INT64_MAX))

TARGET NEFK_INLINE void NAME(add_lanes)(size_t m, size_t n, const double *x, double *sum) {
    enum { AT_ONCE = 4 };
    for (size_t l = 0; l < NEFK_ROW_LANES; l += AT_ONCE * WIDTH) {
        REALS lane[AT_ONCE] = {{0}};
        for (size_t j = 0; j < m; j++)
            for (size_t k = 0; k < AT_ONCE; k++) lane[k] += LOAD(x + j * n + l + k * WIDTH);
        for (size_t k = 0; k < AT_ONCE; k++) STORE(sum + l + k * WIDTH, lane[k]);
    }
}

/* Returns whether several items of a group may start at once. */
TARGET NEFK_INLINE int NAME(top_lanes)(int shape, size_t m, size_t n, const double *starts, const double *parameter,
                                       const double *weight, nefk_tops to, size_t at) {
    MASKS ties = {0};
    for (size_t l = 0; l < NEFK_ROW_LANES; l += WIDTH) {
        REALS start = {0}, next = {0}, rates = {0}, weights = {0};
        for (size_t j = 0; j < m; j++) {
            REALS s = LOAD(starts + j * n + l), a = LOAD(parameter + j * n + l), w = LOAD(weight + j * n + l);
            MASKS is_first = s > start, is_tied = (s == start) & (s > 0.0), is_second = (s > next) & ~is_tied;
            next = CHOOSE(is_first, start, CHOOSE(is_second, s, next));
            rates = CHOOSE(is_first, a, rates + WHERE(is_tied, a));
            weights = CHOOSE(is_first, w, shape == NEFK_FRESHNESS ? weights + WHERE(is_tied, w) : weights);
            start = CHOOSE(is_first, s, start);
            ties |= is_tied;
        }
        STORE(to.start + at + l, start);
        STORE(to.next + at + l, next);
        STORE(to.parameter + at + l, rates);
        STORE(to.weight + at + l, weights);
    }
    int64_t some = 0;
    for (size_t k = 0; k < WIDTH; k++) some |= ties[k];
    return some != 0;
}

TARGET NEFK_INLINE void NAME(find_lanes)(size_t m, size_t n, const double *price, nefk_row_answers items,
                                         nefk_neighbours *to) {
    for (size_t l = 0; l < NEFK_ROW_LANES; l += WIDTH) {
        REALS at = LOAD(price + l), item = {0}, start = {0}, away = INFINITY + item, number = {0};
        REALS others = {0}, steep = {0}, bend = {0}, near = {0}, one = 1.0 + near;
        for (size_t j = 0; j < m; j++, number += 1.0) {
            REALS own = LOAD(items.starts + j * n + l), off = SIZE(own - at);
            MASKS is_nearer = off < away;
            item = CHOOSE(is_nearer, number, item);
            start = CHOOSE(is_nearer, own, start);
            away = CHOOSE(is_nearer, off, away);
        }
        number = (REALS){0};
        for (size_t j = 0; j < m; j++, number += 1.0) {
            size_t i = j * n + l;
            MASKS is_other = item != number, is_near = SIZE(LOAD(items.starts + i) - start) <= NEFK_TOGETHER * at;
            others += WHERE(is_other, LOAD(items.x + i));
            steep += WHERE(is_other, LOAD(items.d + i));
            bend += WHERE(is_other, LOAD(items.c + i));
            near += WHERE(is_near, one);
        }
        STORE(to->item + l, item);
        STORE(to->others + l, others);
        STORE(to->steep + l, steep);
        STORE(to->bend + l, bend);
        STORE(to->near + l, near);
    }
}

#undef REALS
#undef MASKS
#undef LOAD
#undef STORE
#undef WHERE
#undef CHOOSE
#undef SIZE
#undef NAME
#undef WIDTH
#undef TARGET
