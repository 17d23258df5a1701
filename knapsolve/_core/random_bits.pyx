"""The C interface of numpy's bit generators."""

from cpython.pycapsule cimport PyCapsule_GetPointer


cdef bitgen_t *bits_of(object generator) except NULL:
    """The bitgen_t behind a numpy Generator, which must outlive its use."""
    return <bitgen_t *>PyCapsule_GetPointer(generator.bit_generator.capsule, "BitGenerator")
