! MPI_Alltoallw and its kin from Fortran: one datatype per rank, which the Fortran layer of an MPI has to convert.
! (Not MPI_Ialltoallw: Open MPI 4.1.4 gives the converted ones back too early, and crashes.)
program fortran_types
  use mpi
  use fortran_support
  implicit none
  integer, parameter :: most = 8, width = 2
  integer :: rank, ranks, ierror, pair, round

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call open_output(rank)
  call MPI_Type_vector(2, 1, width, MPI_INTEGER, pair, ierror)
  call MPI_Type_commit(pair, ierror)
  do round = 1, 4
    call hear_everybody()
    call exchange()
    call exchange_with_neighbours()
  end do
  call MPI_Type_free(pair, ierror)
  call counted('digest', seen())
  call MPI_Finalize(ierror)
  call say('done')

contains

  ! Who is heard first decides what is exchanged.
  subroutine hear_everybody()
    integer :: status(MPI_STATUS_SIZE)
    integer :: i, number, known
    number = rank
    if (rank /= 0) then
      call jitter(300)
      call MPI_Send(number, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierror)
    else
      do i = 1, ranks - 1
        call MPI_Recv(number, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, status, ierror)
        call took('heard', status(MPI_SOURCE), 1, number)
      end do
    end if
    known = modulo(seen(), 10000)
    call MPI_Bcast(known, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    call fold(known)
  end subroutine

  ! With even ranks by two integers that lie beside each other, with odd ones by two with a hole between them.
  subroutine describe(peer, count, type)
    integer, intent(in) :: peer
    integer, intent(out) :: count, type
    if (modulo(peer + rank, 2) == 0) then
      count = 2
      type = MPI_INTEGER
    else
      count = 1
      type = pair
    end if
  end subroutine

  subroutine show(what, values, n)
    character(len=*), intent(in) :: what
    integer, intent(in) :: values(:), n
    integer :: i
    do i = 1, n
      call counted(what, values(i))
    end do
  end subroutine

  subroutine exchange()
    integer :: out(4 * most), in(4 * most), counts(most), places(most), types(most)
    integer :: i
    do i = 1, ranks
      call describe(i - 1, counts(i), types(i))
      places(i) = 16 * (i - 1)
    end do
    do i = 1, 4 * most
      out(i) = modulo(seen(), 100000) + rank * 100 + i
    end do
    in = -1
    call MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD, ierror)
    call show('exchanged', in, 4 * ranks)
  end subroutine

  ! In a ring: from the left and from the right.
  subroutine exchange_with_neighbours()
    integer :: out(8), in(8), counts(2), types(2), ring, i
    integer(kind=MPI_ADDRESS_KIND) :: places(2)
    call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierror)
    places = [0, 16]
    do i = 1, 8
      out(i) = modulo(seen(), 100000) + rank * 100 + i
    end do
    in = -1
    counts = [2, 2]
    types = [MPI_INTEGER, MPI_INTEGER]
    call MPI_Neighbor_alltoallw(out, counts, places, types, in, counts, places, types, ring, ierror)
    call show('from neighbours', in, 8)
    call MPI_Comm_free(ring, ierror)
  end subroutine

end program
