# numpy's bit generators, reached through their capsule; the caller holds the generator's lock.

from libc.stdint cimport uint32_t, uint64_t

cdef extern from "numpy/random/bitgen.h":
    ctypedef struct bitgen_t:
        void *state
        uint64_t (*next_uint64)(void *state) noexcept nogil
        uint32_t (*next_uint32)(void *state) noexcept nogil
        double (*next_double)(void *state) noexcept nogil
        uint64_t (*next_raw)(void *state) noexcept nogil

cdef extern from "numpy/random/distributions.h":
    double random_standard_exponential(bitgen_t *bitgen) noexcept nogil
    double random_standard_normal(bitgen_t *bitgen) noexcept nogil

cdef bitgen_t *bits_of(object generator) except NULL


cdef inline uint64_t split_mix(uint64_t word) noexcept nogil:
    # The number after `word` of SplitMix64 (Steele, Lea and Flood 2014), whose state goes up by the first constant.
    word += <uint64_t>0x9E3779B97F4A7C15
    word = (word ^ (word >> 30)) * <uint64_t>0xBF58476D1CE4E5B9
    word = (word ^ (word >> 27)) * <uint64_t>0x94D049BB133111EB
    return word ^ (word >> 31)
