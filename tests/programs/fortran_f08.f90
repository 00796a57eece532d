! `use mpi_f08`: handles and statuses are types, error codes optional. Every MPI call is on a line of its own, which
! `reprise show` must name.
program fortran_f08
  use mpi_f08
  use fortran_support
  implicit none
  integer, parameter :: each = 12, any = MPI_ANY_SOURCE, width = 3
  integer :: rank, ranks, ierror, others
  double precision :: began, ended

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call open_output(rank)
  others = ranks - 1
  began = MPI_Wtime()
  call say('streams')
  if (rank == 0) then
    call hear_blocking()
    call hear_nonblocking()
    call hear_waiting_for_some()
    call hear_polling()
    call hear_columns()
  else
    call send_all()
  end if
  call say('parts')
  call split_off_one()
  ended = MPI_Wtime()
  if (ended < began) call say('time runs backwards')
  call tell_digest()
  call MPI_Finalize()
  call say('done')

contains

  subroutine send_all()
    integer :: i, number
    integer :: table(width, 4)
    type(MPI_Datatype) :: row
    do i = 1, 5 * each
      if (i == 3 * each + 1) call MPI_Barrier(MPI_COMM_WORLD, ierror)
      call jitter(merge(400, 60, i > 3 * each))
      number = rank * 1000 + i
      call MPI_Send(number, 1, MPI_INTEGER, 0, modulo(i, 3), MPI_COMM_WORLD, ierror)
    end do
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Type_vector(4, 1, width, MPI_INTEGER, row, ierror)
    call MPI_Type_commit(row)
    do i = 1, each
      call jitter(60)
      table = rank * 100 + i
      call MPI_Send(table(1, 1), 1, row, 0, 7, MPI_COMM_WORLD, ierror)
    end do
    call MPI_Type_free(row, ierror)
  end subroutine

  subroutine hear_blocking()
    type(MPI_Status) :: status
    integer :: i, number, count
    do i = 1, each * others
      call MPI_Recv(number, 1, MPI_INTEGER, any, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
      call MPI_Get_count(status, MPI_INTEGER, count, ierror)
      call took('blocking', status%MPI_SOURCE, status%MPI_TAG, number)
      if (count /= 1 .or. ierror /= MPI_SUCCESS) call say('wrong count')
    end do
  end subroutine

  subroutine hear_nonblocking()
    type(MPI_Request) :: request
    integer :: i, number
    do i = 1, each * others
      call MPI_Irecv(number, 1, MPI_INTEGER, any, MPI_ANY_TAG, MPI_COMM_WORLD, request, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call counted('nonblocking', number)
    end do
  end subroutine

  subroutine hear_waiting_for_some()
    type(MPI_Request) :: requests(2)
    type(MPI_Status) :: status, statuses(2)
    integer :: i, k, index, count, numbers(2), indices(2)
    do i = 1, each * others / 2
      do k = 1, 2
        call MPI_Irecv(numbers(k), 1, MPI_INTEGER, any, MPI_ANY_TAG, MPI_COMM_WORLD, requests(k), ierror)
      end do
      call MPI_Waitany(2, requests, index, status, ierror)
      call took('any', status%MPI_SOURCE, status%MPI_TAG, numbers(index))
      call MPI_Waitsome(2, requests, count, indices, statuses, ierror)
      do k = 1, count
        call took('some', statuses(k)%MPI_SOURCE, statuses(k)%MPI_TAG, numbers(indices(k)))
      end do
    end do
  end subroutine

  ! Two places that poll, in turns: their failures must not be mixed up.
  subroutine hear_polling()
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: i, number, failures, turn
    logical :: flag
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    do i = 1, 2 * each * others
      failures = 0
      flag = .false.
      call MPI_Irecv(number, 1, MPI_INTEGER, any, MPI_ANY_TAG, MPI_COMM_WORLD, request, ierror)
      do while (.not. flag)
        turn = modulo(i + failures, 2)
        if (turn == 0) then
          call MPI_Test(request, flag, status, ierror)
        end if
        if (turn == 1) then
          call MPI_Test(request, flag, status)
        end if
        if (.not. flag) failures = failures + 1
      end do
      call counted('failures', failures)
      call took('polled', status%MPI_SOURCE, status%MPI_TAG, number)
    end do
  end subroutine

  subroutine hear_columns()
    type(MPI_Datatype) :: row
    type(MPI_Status) :: status
    integer :: i, table(width, 4)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Type_vector(4, 1, width, MPI_INTEGER, row, ierror)
    call MPI_Type_commit(row)
    do i = 1, each * others
      table = 0
      call MPI_Recv(table(2, 1), 1, row, any, 7, MPI_COMM_WORLD, status, ierror)
      call took('row', status%MPI_SOURCE, status%MPI_TAG, sum(table))
    end do
    call MPI_Type_free(row, ierror)
  end subroutine

  ! All but rank 1, in reverse order: the first hears the others.
  subroutine split_off_one()
    type(MPI_Comm) :: part
    integer :: i, own, size, number
    call MPI_Comm_split(MPI_COMM_WORLD, merge(1, 0, rank == 1), -rank, part, ierror)
    call MPI_Comm_rank(part, own, ierror)
    call MPI_Comm_size(part, size, ierror)
    do i = 1, each
      if (own > 0) then
        call jitter(60)
        call MPI_Send(rank, 1, MPI_INTEGER, 0, i, part, ierror)
      end if
    end do
    if (own == 0) then
      do i = 1, each * (size - 1)
        call MPI_Recv(number, 1, MPI_INTEGER, any, MPI_ANY_TAG, part, MPI_STATUS_IGNORE, ierror)
        call counted('part', number)
      end do
    end if
    call MPI_Comm_free(part, ierror)
  end subroutine

  subroutine tell_digest()
    integer :: root
    root = seen()
    call MPI_Bcast(root, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call counted('rank 0 saw', root)
    call counted('I saw', seen())
  end subroutine

end program
