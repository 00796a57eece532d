! Fortran programs that see what others write by loading it, as those of access_kinds.h: the kinds that the arguments name.
program access_fortran
  use mpi_f08
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use fortran_support
  implicit none
  integer, parameter :: turns = 6, rounds = 16, slots = 64, length = 1024, block_size = 32
  integer(MPI_ADDRESS_KIND), parameter :: start = 0
  ! What a rank that steals has in its window, and what it finds there instead of an address.
  integer, parameter :: stolen_address = 1, stolen_amount = 2, requestor = 3, open_nodes = 4, stack = 4, capacity = 4096
  integer(int64), parameter :: nobody = -1, waiting = -2, denied = -3

  type block
    integer(int64) :: words(block_size)
  end type

  type(MPI_Win) :: win
  integer :: me, all, word
  character(len=20) :: kind

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, all)
  call open_output(me)
  do word = 2, command_argument_count()
    call get_command_argument(word, kind)
    call begin(trim(kind))
    select case (kind)
    case ('spin'); call spin()
    case ('steal'); call steal()
    case ('shared'); call shared()
    case ('race'); call race()
    case ('atomics'); call atomics()
    case ('copies'); call copies()
    case ('vectors'); call vectors()
    case default; error stop 'no such kind'
    end select
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
    call counted('I saw', seen())
  end do
  call MPI_Finalize()

contains

  ! Of `count` units; nothing of it is zero yet.
  function allocated(count, unit) result(base)
    integer, intent(in) :: count, unit
    type(c_ptr) :: base
    call MPI_Win_allocate(int(count * unit, MPI_ADDRESS_KIND), unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
  end function

  function shared_by_all(count, unit) result(base)
    integer, intent(in) :: count, unit
    type(c_ptr) :: base
    integer(MPI_ADDRESS_KIND) :: bytes
    integer :: its_unit
    bytes = merge(count * unit, 0, me == 0)
    call MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, base, win)
    call MPI_Win_shared_query(win, 0, bytes, its_unit, base)
  end function

  subroutine begin_epoch()
    call MPI_Win_lock_all(0, win)
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine

  ! MPICH puts nothing into the memory of a rank that makes no calls.
  subroutine make_progress(loads)
    integer, intent(inout) :: loads
    logical :: flag
    loads = loads + 1
#ifdef MPICH
    if (modulo(loads, 64) == 0) call MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE)
#endif
  end subroutine

  subroutine put(number, target, at)
    integer(int64), intent(in) :: number
    integer, intent(in) :: target, at
    call MPI_Put(number, 1, MPI_INTEGER8, target, start + at - 1, 1, MPI_INTEGER8, win)
    call MPI_Win_flush(target, win)
  end subroutine

  ! A token goes round; who waits for it only loads.
  subroutine spin()
    integer(int64), pointer, volatile :: token(:)
    integer :: round, loads
    call c_f_pointer(allocated(2, 8), token, [2])  ! MPICH: multiples of 16 bytes (docs/library-bugs.md)
    token = 0
    call begin_epoch()
    loads = 0
    do round = 1, turns
      if (me > 0) then
        do while (token(1) < round)
          call make_progress(loads)
        end do
      end if
      call counted('loads', loads)
      call jitter(200)
      call put(int(round, int64), modulo(me + 1, all), 1)
      if (me == 0) then
        do while (token(1) < round)
          call make_progress(loads)
        end do
      end if
      call fold(loads)
    end do
  end subroutine

  ! Work stealing as in the paper's Listing 1: who wants work asks by a compare-and-swap, and loads until it is told where the work is.
  subroutine steal()
    integer(int64), pointer, volatile :: own(:)
    integer(int64) :: local, top, node, amount, i
    integer(int64), asynchronous :: mine, got
    integer :: loads, thefts, victim, children
    type(MPI_Request) :: over
    logical :: everybody
    call c_f_pointer(allocated(stack + capacity, 8), own, [stack + capacity])
    own = 0
    own(requestor) = nobody
    own(open_nodes) = 1
    local = 0
    top = 0
    loads = 0
    thefts = 0
    if (me == 0) then
      top = 1
      own(stack + top) = 32
    end if
    call begin_epoch()
    do
      do while (top > local)
        node = own(stack + top)
        top = top - 1
        children = children_of(node)
        do i = 1, children
          if (top == capacity) exit
          top = top + 1
          own(stack + top) = ior(ishft(ishft(node, -5) * 3 + i, 5), iand(node, 31_int64) + 1)
        end do
        call fold(int(node))
        got = add_open(int(children - 1, int64))
        call answer(own, local, top)
        call jitter(60)
      end do
      local = 0
      top = 0
      if (add_open(0_int64) == 0) exit
      victim = modulo(me + 1 + modulo(thefts, all - 1), all)
      thefts = thefts + 1
      own(stolen_address) = waiting
      mine = me
      call MPI_Compare_and_swap(mine, nobody, got, MPI_INTEGER8, victim, start + requestor - 1, win)
      call MPI_Win_flush(victim, win)
      if (got /= nobody) cycle
      do while (own(stolen_address) == waiting)
        call make_progress(loads)
        call answer(own, local, top)
      end do
      if (own(stolen_address) < 0) cycle
      amount = own(stolen_amount)
      call MPI_Get(own(stack + 1), int(amount), MPI_INTEGER8, victim, start + stack + own(stolen_address), &
                   int(amount), MPI_INTEGER8, win)
      call MPI_Win_flush(victim, win)
      top = amount
      call counted('stole', int(amount) * 100 + victim)
      call counted('loads', loads)
    end do
    ! Others may still wait for an answer.
    call MPI_Ibarrier(MPI_COMM_WORLD, over)
    everybody = .false.
    do while (.not. everybody)
      call answer(own, local, top)
      call MPI_Test(over, everybody, MPI_STATUS_IGNORE)
    end do
  end subroutine

  integer function children_of(node)
    integer(int64), intent(in) :: node
    integer(int64) :: depth
    depth = iand(node, 31_int64)
    children_of = int(modulo(ishft(node * 40503, -9), 3_int64))
    if (depth < 4) children_of = 2
    if (depth >= 9) children_of = 0
  end function

  integer(int64) function add_open(change)
    integer(int64), intent(in), asynchronous :: change
    integer(int64), asynchronous :: before
    call MPI_Fetch_and_op(change, before, MPI_INTEGER8, 0, start + open_nodes - 1, MPI_SUM, win)
    call MPI_Win_flush(0, win)
    add_open = before + change
  end function

  subroutine answer(own, local, top)
    integer(int64), pointer, volatile, intent(in) :: own(:)
    integer(int64), intent(inout) :: local
    integer(int64), intent(in) :: top
    integer(int64) :: amount, place
    integer :: who
    who = int(own(requestor))
    if (who < 0) return
    amount = (top - local) / 2
    place = merge(denied, local, amount == 0)
    local = local + amount
    call put(amount, who, stolen_amount)
    own(requestor) = nobody
    call put(place, who, stolen_address)
    call counted('gave', int(amount) * 100 + who)
  end subroutine

  ! Shared memory, stored to and loaded from without order.
  subroutine shared()
    integer, pointer, volatile :: cells(:)
    integer :: round, at
    call c_f_pointer(shared_by_all(slots, 4), cells, [slots])
    if (me == 0) cells = 0
    call begin_epoch()
    do round = 1, 20 * rounds
      at = modulo(round * 7 + me, slots) + 1
      cells(at) = cells(at) + me + 1
      call fold(cells(modulo(at + 2, slots) + 1))
      if (modulo(round, 80) == 0) then
        call counted('cell', cells(at))
        call jitter(300)
      end if
    end do
  end subroutine

  ! Others put into what a rank adds up, without any order.
  subroutine race()
    integer(int64), pointer :: own(:)
    integer(int64) :: total
    integer :: round, again, loads, i
    call c_f_pointer(allocated(slots, 8), own, [slots])
    own = 0
    call begin_epoch()
    loads = 0
    do round = 0, rounds - 1
      call put(int(round * 10 + me, int64), modulo(me + 1 + round, all), modulo(round * 5, slots) + 1)
      total = 0
      do again = 1, 5
        do i = 1, slots
          total = total + own(i)
        end do
        call make_progress(loads)  ! and what was loaded may be another value now
      end do
      own(modulo(round, slots) + 1) = -modulo(total, 1000_int64)
      call fold(int(total))
      if (modulo(round, 5) == 0) call counted('total', int(total))
    end do
  end subroutine

  ! A lock and counters in shared memory, by the atomic operations of OpenMP.
  subroutine atomics()
    integer, pointer, volatile :: words(:)
    integer :: round, turn, mine, before, waits
    call c_f_pointer(shared_by_all(4 + slots, 4), words, [4 + slots])
    if (me == 0) words = 0
    call begin_epoch()
    waits = 0
    do round = 1, rounds
      !$omp atomic capture
      mine = words(1)
      words(1) = words(1) + 1
      !$omp end atomic
      do
        !$omp atomic read
        turn = words(2)
        if (turn == mine) exit
        waits = waits + 1
      end do
      words(5 + modulo(mine, slots)) = me * 1000 + round
      !$omp atomic write
      words(2) = mine + 1
      !$omp atomic capture
      before = words(3)
      words(3) = ieor(words(3), mine)
      !$omp end atomic
      !$omp atomic update
      words(4) = max(words(4), before)
      call fold(mine)
      call fold(before)
      call fold(words(4))
      call fold(words(5 + modulo(mine + 1, slots)))
      if (modulo(round, 5) == 0) call counted('waits', waits)
      call jitter(30)
    end do
  end subroutine

  ! Blocks are copied as a whole.
  subroutine copies()
    type(block), pointer :: blocks(:)
    type(block) :: mine, copy
    integer(int64) :: part(block_size)
    integer :: round, i, right
    right = modulo(me + 1, all)
    call c_f_pointer(allocated(8 * block_size, 8), blocks, [8])
    do i = 1, 8
      blocks(i)%words = 0
    end do
    call begin_epoch()
    do round = 0, rounds - 1
      mine%words = round * 100 + me
      call MPI_Put(mine%words, block_size, MPI_INTEGER8, right, start + modulo(round, 8) * block_size, &
                   block_size, MPI_INTEGER8, win)
      call MPI_Win_flush(right, win)
      copy = blocks(modulo(round * 3, 8) + 1)
      call fold(int(sum(copy%words)))
      part = blocks(modulo(round + 1, 8) + 1)%words
      do i = 1, block_size
        call fold(int(part(i)))
      end do
      if (modulo(round, 11) == 0) blocks(2) = blocks(3)
      if (modulo(round, 7) == 0) blocks(modulo(round, 8) + 1)%words(1:block_size / 2) = 0
      if (modulo(round, 5) == 0) call counted('last', int(part(block_size)))
      call jitter(100)
    end do
  end subroutine

  ! Loops that compilers make vectors of.
  subroutine vectors()
    double precision, pointer :: own(:)
    double precision :: mine(16), twice(length)
    integer :: round, right
    right = modulo(me + 1, all)
    call c_f_pointer(allocated(length, 8), own, [length])
    own = 0
    call begin_epoch()
    do round = 1, rounds
      mine = round + 0.5 * me
      call MPI_Put(mine, 16, MPI_DOUBLE_PRECISION, right, start + modulo(round * 37, length - 16), 16, MPI_DOUBLE_PRECISION, win)
      call MPI_Win_flush(right, win)
      twice = own * 2 + 1
      own(1:length:2) = own(2:length:2) * 0.5
      own(1:length / 2) = own(1:length / 2) * 0.5
      call fold(int(sum(twice) * 8))
      if (modulo(round, 5) == 0) call counted('sum', int(sum(own) * 16))
    end do
  end subroutine
end program
