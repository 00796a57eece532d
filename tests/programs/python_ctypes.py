"""MPI by ctypes: the functions are looked up in the library's handle, which passes every preloaded library by.

With "half", MPI_Init and MPI_Finalize are called as a linked program calls them, and only the rest by the handle.
"""

import ctypes
import sys

library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
process = ctypes.CDLL(None) if "half" in sys.argv[2:] else library
rank = ctypes.c_int(-1)
process.MPI_Init(None, None)
world = ctypes.c_void_p.in_dll(library, "ompi_mpi_comm_world") if hasattr(library, "ompi_mpi_comm_world") else None
world = ctypes.c_void_p(ctypes.addressof(world)) if world is not None else ctypes.c_int(0x44000000)
for _ in range(10):
    library.MPI_Barrier(world)
library.MPI_Comm_rank(world, ctypes.byref(rank))
process.MPI_Finalize()
print("rank", rank.value)
