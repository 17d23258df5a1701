"""How loops over tables by group ask memory for entries ahead."""

cdef extern from "nefk_load.h":
    enum:
        NEFK_AHEAD
        NEFK_IN_ORDER
    ctypedef struct nefk_entries:
        size_t from_ "from"
        size_t width
    void nefk_ask(nefk_entries entries, size_t k) noexcept nogil

cdef extern from *:
    void __builtin_prefetch(const void *, int) noexcept nogil

cdef enum:
    LARGE_TABLE = 1 << 16  # entries that are worth asking for ahead
