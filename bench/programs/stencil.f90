! Jacobi iteration on a grid that is cut into strips, in Fortran: stencil DIR STEPS
program stencil
  use mpi
  use iso_c_binding, only: c_char, c_long, c_null_char
  implicit none
  integer, parameter :: columns = 128, rows = 16
  double precision :: grid(columns, 0:rows + 1), next(columns, rows), change, total
  integer :: rank, size, ierror, above, below, requests(4), step, steps
  integer(c_long) :: calls
  character(len=4096) :: directory, word
  interface
    subroutine bench_begin() bind(C)
    end subroutine
    subroutine bench_end(directory, calls) bind(C)
      import :: c_char, c_long
      character(kind=c_char), intent(in) :: directory(*)
      integer(c_long), value :: calls
    end subroutine
  end interface

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call get_command_argument(1, directory)
  call get_command_argument(2, word)
  read (word, *) steps
  above = merge(MPI_PROC_NULL, rank - 1, rank == 0)
  below = merge(MPI_PROC_NULL, rank + 1, rank == size - 1)
  grid = rank
  calls = 0
  call bench_begin()
  do step = 1, steps
    call MPI_Irecv(grid(1, 0), columns, MPI_DOUBLE_PRECISION, above, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Irecv(grid(1, rows + 1), columns, MPI_DOUBLE_PRECISION, below, 2, MPI_COMM_WORLD, requests(2), ierror)
    call MPI_Isend(grid(1, 1), columns, MPI_DOUBLE_PRECISION, above, 2, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Isend(grid(1, rows), columns, MPI_DOUBLE_PRECISION, below, 1, MPI_COMM_WORLD, requests(4), ierror)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    next(2:columns - 1, :) = 0.25d0 * (grid(1:columns - 2, 1:rows) + grid(3:columns, 1:rows) &
                                       + grid(2:columns - 1, 0:rows - 1) + grid(2:columns - 1, 2:rows + 1))
    change = maxval(abs(next(2:columns - 1, :) - grid(2:columns - 1, 1:rows)))
    grid(2:columns - 1, 1:rows) = next(2:columns - 1, :)
    calls = calls + 5
    if (mod(step, 10) == 0) then
      call MPI_Allreduce(change, total, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierror)
      calls = calls + 1
    end if
  end do
  call bench_end(trim(directory) // c_null_char, calls)
  call MPI_Finalize(ierror)
end program
