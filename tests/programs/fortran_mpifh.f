C     mpif.h in fixed form, as old programs have it. Every MPI call is
C     on a line of its own, which `reprise show` must name.
      program fortran_mpifh
      use fortran_support
      implicit none
      include 'mpif.h'
      integer each, any, tags
      parameter (each = 12, any = MPI_ANY_SOURCE, tags = MPI_ANY_TAG)
      integer world, word
      parameter (world = MPI_COMM_WORLD, word = MPI_INTEGER)
      integer rank, ranks, others, i, k, number, index, count, root
      integer failures, row, part, own, ierr
      integer one, two, first, last
      integer indices(2), requests(2), table(3, 4)
      integer status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
      logical flag
      double precision began

      call MPI_INIT(ierr)
      call MPI_COMM_RANK(world, rank, ierr)
      call MPI_COMM_SIZE(world, ranks, ierr)
      call open_output(rank)
      others = ranks - 1
      began = MPI_WTIME()
      call MPI_TYPE_VECTOR(4, 1, 3, word, row, ierr)
      call MPI_TYPE_COMMIT(row, ierr)

      if (rank .ne. 0) then
        do 10 i = 1, 5 * each
          if (i .eq. 3 * each + 1) call MPI_BARRIER(world, ierr)
          call jitter(merge(400, 60, i .gt. 3 * each))
          number = rank * 1000 + i
          k = modulo(i, 3)
          call MPI_SEND(number, 1, word, 0, k, world, ierr)
   10   continue
        call MPI_BARRIER(world, ierr)
        do 20 i = 1, each
          call jitter(60)
          table = rank * 100 + i
          call MPI_SEND(table(1, 1), 1, row, 0, 7, world, ierr)
   20   continue
        goto 100
      end if

      do 30 i = 1, each * others
        call MPI_RECV(k, 1, word, any, tags, world, status, ierr)
        call took('blocking', status(MPI_SOURCE), status(MPI_TAG), k)
   30 continue

      do 40 i = 1, each * others
        call MPI_IRECV(k, 1, word, any, tags, world, root, ierr)
        call MPI_WAIT(root, MPI_STATUS_IGNORE, ierr)
        call counted('nonblocking', k)
   40 continue

      do 60 i = 1, each * others / 2
        call MPI_IRECV(one, 1, word, any, tags, world, first, ierr)
        call MPI_IRECV(two, 1, word, any, tags, world, last, ierr)
        requests(1) = first
        requests(2) = last
        call MPI_WAITANY(2, requests, index, status, ierr)
        k = merge(one, two, index .eq. 1)
        call took('any', status(MPI_SOURCE), status(MPI_TAG), k)
        call MPI_WAITSOME(2, requests, count, indices, statuses, ierr)
        do 50 k = 1, count
          root = merge(one, two, indices(k) .eq. 1)
          call took('some', statuses(MPI_SOURCE, k), index, root)
   50   continue
   60 continue

C     Two places that poll, in turns: their failures must not be mixed.
      call MPI_BARRIER(world, ierr)
      do 80 i = 1, 2 * each * others
        failures = 0
        call MPI_IRECV(k, 1, word, any, tags, world, root, ierr)
   70   if (modulo(i + failures, 2) .eq. 0) then
          call MPI_TEST(root, flag, status, ierr)
        else
          call MPI_TEST(root, flag, status, ierr)
        end if
        if (.not. flag) then
          failures = failures + 1
          goto 70
        end if
        call counted('failures', failures)
        call took('polled', status(MPI_SOURCE), status(MPI_TAG), k)
   80 continue

      call MPI_BARRIER(world, ierr)
      do 90 i = 1, each * others
        table = 0
        call MPI_RECV(table(2, 1), 1, row, any, 7, world, status, ierr)
        call took('row', status(MPI_SOURCE), 7, sum(table))
   90 continue

C     All but rank 1, in reverse order: the first hears the others.
  100 k = merge(1, 0, rank .eq. 1)
      call MPI_COMM_SPLIT(world, k, -rank, part, ierr)
      call MPI_COMM_RANK(part, own, ierr)
      call MPI_COMM_SIZE(part, count, ierr)
      do 110 i = 1, each
        call jitter(60)
        if (own .eq. 0) goto 110
        call MPI_SEND(rank, 1, word, 0, i, part, ierr)
  110 continue
      if (own .ne. 0) goto 130
      do 120 i = 1, each * (count - 1)
        call MPI_RECV(k, 1, word, any, tags, part, status, ierr)
        call counted('part', k)
  120 continue
  130 call MPI_COMM_FREE(part, ierr)
      call MPI_TYPE_FREE(row, ierr)

      if (MPI_WTIME() .lt. began) call say('time runs backwards')
      root = seen()
      call MPI_BCAST(root, 1, word, 0, world, ierr)
      call counted('rank 0 saw', root)
      call counted('I saw', seen())
      call MPI_FINALIZE(ierr)
      call say('done')
      end
