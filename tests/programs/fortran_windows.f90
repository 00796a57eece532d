! Windows from Fortran: memory of the library and of the program, by fences and by locks. What is read depends on who came first.
program fortran_windows
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use fortran_support
  implicit none
  integer, parameter :: slots = 16, rounds = 5
  integer :: rank, ranks, round, ticket, i
  integer, pointer :: tickets, allocated_memory(:)
  integer, allocatable, target, asynchronous :: own(:)  ! static memory may lie where MPICH 4.0.2 gets it wrong
  integer :: values(4)
  type(c_ptr) :: address
  type(MPI_Win) :: counter, window, created

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call open_output(rank)
  call MPI_Win_allocate(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, counter)
  call c_f_pointer(address, tickets)
  call MPI_Win_allocate(4_MPI_ADDRESS_KIND * slots, 4, MPI_INFO_NULL, MPI_COMM_WORLD, address, window)
  call c_f_pointer(address, allocated_memory, [slots])
  allocate (own(slots))
  own = 0
  call MPI_Win_create(own, 4_MPI_ADDRESS_KIND * slots, 4, MPI_INFO_NULL, MPI_COMM_WORLD, created)
  allocated_memory = 0
  tickets = 0
  call MPI_Win_fence(0, window)
  call MPI_Win_fence(0, created)
  call MPI_Barrier(MPI_COMM_WORLD)
  do round = 1, rounds
    ticket = take_ticket()
    values = [ticket, rank, round, -ticket]
    call MPI_Put(values, 4, MPI_INTEGER, modulo(rank + 1, ranks), 4_MPI_ADDRESS_KIND, 4, MPI_INTEGER, window)
    call MPI_Accumulate(values, 1, MPI_INTEGER, modulo(rank + 2, ranks), 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, MPI_SUM, window)
    call MPI_Win_fence(0, window)
    do i = 1, 8
      call counted('allocated', allocated_memory(i))
    end do
    call MPI_Get(values, 4, MPI_INTEGER, modulo(rank + 1, ranks), 4_MPI_ADDRESS_KIND, 4, MPI_INTEGER, window)
    call MPI_Win_fence(0, window)
    call counted('got', values(1))
    ticket = take_ticket()
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, modulo(round, ranks), 0, created)
    call MPI_Get(values, 1, MPI_INTEGER, modulo(round, ranks), 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, created)
    call MPI_Win_flush(modulo(round, ranks), created)
    call counted('before', values(1))
    values(2) = modulo(values(1) * 3 + ticket, 100003)
    call MPI_Put(values(2), 1, MPI_INTEGER, modulo(round, ranks), 0_MPI_ADDRESS_KIND, 1, MPI_INTEGER, created)
    call MPI_Win_unlock(modulo(round, ranks), created)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, created)
    call MPI_F_sync_reg(own)
    call counted('own', own(1))
    call MPI_Win_unlock(rank, created)
    call MPI_Barrier(MPI_COMM_WORLD)
  end do
  call MPI_Win_free(created)
  call MPI_Win_free(window)
  call MPI_Win_free(counter)
  call counted('seen', seen())
  call MPI_Finalize()
  call say('done')

contains

  integer function take_ticket()
    integer :: one
    one = 1
    call jitter(200)
    call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, counter)
    call MPI_Fetch_and_op(one, take_ticket, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, MPI_SUM, counter)
    call MPI_Win_unlock(0, counter)
    take_ticket = take_ticket * 10 + rank
  end function
end program
