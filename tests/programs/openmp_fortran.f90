! OpenMP from Fortran: who comes when, and who gets what.
program openmp_fortran
  use mpi_f08
  use omp_lib
  implicit none
  integer, parameter :: rounds = 24, wide = selected_int_kind(18)
  integer :: rank, provided, i, unit, who(rounds)
  integer(wide) :: order, locked, nested
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  character(len=4096) :: directory
  character(len=16) :: number

  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, directory)
  write (number, '(i0)') rank
  open (newunit=unit, file=trim(directory)//'/out-'//trim(number)//'.txt', action='write', status='replace')
  call omp_set_num_threads(3)
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  order = 0
  locked = 0
  nested = 0
  !$omp parallel private(i)
  do i = 1, rounds
    call pause_a_little(i)
    !$omp critical
    order = mod(order * 7 + omp_get_thread_num(), 1000000007_wide)
    !$omp end critical
    call omp_set_lock(lock)
    locked = mod(locked * 7 + omp_get_thread_num(), 1000000007_wide)
    call omp_unset_lock(lock)
    do while (omp_test_nest_lock(nest) == 0)
    end do
    nested = mod(nested * 7 + omp_get_thread_num(), 1000000007_wide)
    call omp_unset_nest_lock(nest)
  end do
  !$omp end parallel
  write (unit, '(a,i0)') 'critical ', order
  write (unit, '(a,i0)') 'lock ', locked
  write (unit, '(a,i0)') 'nest ', nested
  !$omp parallel do schedule(dynamic)
  do i = 1, rounds
    call pause_a_little(i)
    who(i) = omp_get_thread_num()
  end do
  !$omp end parallel do
  write (unit, '(a,24i1)') 'dynamic ', who
  write (unit, '(a)') 'done'
  close (unit)
  call MPI_Finalize()

contains

  ! The threads come at times that no run repeats.
  subroutine pause_a_little(seed)
    integer, intent(in) :: seed
    integer :: k
    real :: x
    x = real(seed)
    do k = 1, 2000 + 1000 * omp_get_thread_num()
      x = sin(x)
    end do
    if (x > 2.0) print *, x
  end subroutine
end program
