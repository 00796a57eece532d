! What a Fortran program asks the system: times of all kinds, and the seed of its random numbers.
program fortran_clocks
  use mpi
  implicit none
  integer :: error, rank, ranks, i, unit, length
  integer(kind=8) :: count, rate
  integer :: parts(8), size_of_seed
  integer, allocatable :: seed(:)
  real :: number, early_number, used
  character(len=8) :: date
  character(len=10) :: time
  character(len=1024) :: directory, name
  integer(kind=8) :: early_count

  call system_clock(early_count)
  call random_seed()
  call random_number(early_number)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call get_command_argument(1, directory, length)
  write (name, '(a,"/out-",i0,".txt")') directory(1:length), rank
  open (newunit=unit, file=trim(name), status='replace', action='write')
  write (unit, *) 'early', early_count, early_number

  call random_init(.false., .true.)
  call random_seed(size=size_of_seed)
  allocate (seed(size_of_seed))
  call random_seed(get=seed)
  write (unit, *) 'seed', seed
  do i = 1, 5
    call system_clock(count, rate)
    call date_and_time(date, time, values=parts)
    call cpu_time(used)
    call random_number(number)
    write (unit, *) count, rate, date, time, parts(8), used, number, MPI_Wtime()
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do
  call MPI_Finalize(error)
  close (unit)
end program
