/* A whole search over few items, in one call: passes, until a model about the next price tells the answer. */
#ifndef NEFK_RUN_H
#define NEFK_RUN_H

#include "nefk_kernel.h"
#include "nefk_search.h"

/* Take a search over the first n items of a problem some steps further, at most so many; returns how many it took. */
size_t nefk_run_search(const nefk_problem *problem, size_t n, nefk_search *search, size_t most);

#endif
