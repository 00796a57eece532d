! Fortran programs that see what others write by loading it: a token in a volatile variable, arrays that others put into, shared memory.
program access_fortran
  use mpi_f08
  use, intrinsic :: iso_c_binding
  use fortran_support
  implicit none
  integer, parameter :: turns = 10, rounds = 40, length = 200
  integer :: me, all

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, all)
  call open_output(me)
  call token()
  call sums()
  call cells()
  call counted('I saw', seen())
  call MPI_Finalize()

contains

  subroutine make_progress(loads)
    integer, intent(in) :: loads
    logical :: flag
    if (modulo(loads, 64) == 0) call MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
  end subroutine

  subroutine token()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer, volatile :: own
    integer :: round, loads
    integer, target :: now
    call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, own)
    own = 0
    call MPI_Win_lock_all(0, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    loads = 0
    do round = 1, turns
      if (me > 0) then
        do while (own < round)
          loads = loads + 1
          call make_progress(loads)
        end do
      end if
      call counted('loads', loads)
      call fold(loads)
      now = round
      call MPI_Put(now, 1, MPI_INTEGER, modulo(me + 1, all), 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
      call MPI_Win_flush(modulo(me + 1, all), win)
      if (me == 0) then
        do while (own < round)
          loads = loads + 1
          call make_progress(loads)
        end do
      end if
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine

  subroutine sums()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    double precision, pointer :: own(:)
    double precision :: mine(10), twice(length)
    integer :: round, target
    call MPI_Win_allocate(length * 8_MPI_ADDRESS_KIND, 8, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call c_f_pointer(base, own, [length])
    own = 0
    call MPI_Win_lock_all(0, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    do round = 1, rounds
      mine = round + 0.5 * me
      target = modulo(me + 1 + round, all)
      call MPI_Put(mine, 10, MPI_DOUBLE_PRECISION, target, int(modulo(round * 13, length - 10), MPI_ADDRESS_KIND), &
                   10, MPI_DOUBLE_PRECISION, win)
      call MPI_Win_flush(target, win)
      twice = own * 2 + 1
      own(1:length:2) = own(2:length:2) * 0.5
      call fold(int(sum(twice) * 8))
      if (modulo(round, 10) == 0) call counted('sum', int(sum(own) * 16))
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine

  subroutine cells()
    type(MPI_Win) :: win
    type(c_ptr) :: base
    integer, pointer, volatile :: shared(:)
    integer(MPI_ADDRESS_KIND) :: bytes
    integer :: round, unit, at
    bytes = 0
    if (me == 0) bytes = 4 * length
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call MPI_Win_shared_query(win, 0, bytes, unit, base)
    call c_f_pointer(base, shared, [length])
    if (me == 0) shared = 0
    call MPI_Win_lock_all(0, win)
    call MPI_Barrier(MPI_COMM_WORLD)
    do round = 1, 10 * rounds
      at = modulo(round * 7 + me, length) + 1
      shared(at) = shared(at) + me + 1
      call fold(shared(modulo(at, length) + 1))
      if (modulo(round, 100) == 0) then
        call counted('cell', shared(at))
        call jitter(300)
      end if
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
  end subroutine
end program
