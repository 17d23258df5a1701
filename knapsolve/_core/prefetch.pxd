"""How loops over tables by group ask memory for entries ahead."""

cdef extern from "nefk_load.h":
    enum:
        NEFK_AHEAD
        NEFK_IN_ORDER

cdef extern from *:
    void __builtin_prefetch(const void *, int) noexcept nogil

cdef enum:
    LARGE_TABLE = 1 << 16  # entries that are worth asking for ahead
