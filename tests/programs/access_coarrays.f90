! Coarrays whose elements are loaded until another image has changed them, or while it changes them, without any statement of
! synchronisation in between: the kinds that the arguments name.
program access_coarrays
  use, intrinsic :: iso_fortran_env, only: atomic_int_kind
  use fortran_support
  implicit none
  integer, parameter :: turns = 6, rounds = 12, slots = 64, length = 256, block_size = 32, capacity = 2048
  integer, parameter :: nobody = -1, waiting = -2, denied = -3
  ! Multiples of 16 bytes, for MPICH (docs/library-bugs.md); only the first element of each is used.
  integer, volatile :: token(4)[*], stolen_address(4)[*], stolen_amount(4)[*]
  integer(atomic_int_kind), volatile :: requestor(4)[*], open_nodes(4)[*], total(4)[*]
  integer, allocatable :: box(:)[:], blocks(:, :)[:], stack(:)[:]
  double precision, allocatable :: numbers(:)[:]
  integer :: me, all, next, word
  character(len=20) :: kind

  me = this_image()
  all = num_images()
  next = modulo(me, all) + 1
  call open_output(me - 1)
  allocate (box(slots)[*], blocks(block_size, 8)[*], stack(capacity)[*], numbers(length)[*])
  do word = 2, command_argument_count()
    call get_command_argument(word, kind)
    call begin(trim(kind))
    select case (kind)
    case ('spin'); call spin()
    case ('steal'); call steal()
    case ('race'); call race()
    case ('atomics'); call atomics()
    case ('copies'); call copies()
    case ('vectors'); call vectors()
    case default; error stop 'no such kind'
    end select
    sync all
    call counted('I saw', seen())
  end do

contains

  ! A token goes round; who waits for it only loads.
  subroutine spin()
    integer :: turn, loads
    token = 0
    sync all
    loads = 0
    do turn = 1, turns
      if (me > 1) call await(turn, loads)
      call counted('loads', loads)
      call jitter(200)
      token(1)[next] = turn
      sync memory
      if (me == 1) call await(turn, loads)
      call fold(loads)
    end do
  end subroutine

  ! MPICH writes nothing into the memory of an image that does nothing but load.
  subroutine make_progress(loads)
    integer, intent(inout) :: loads
    integer(atomic_int_kind) :: unused
    loads = loads + 1
#ifdef MPICH
    if (modulo(loads, 64) == 0) call atomic_ref(unused, open_nodes(1)[me])
#endif
  end subroutine

  subroutine await(turn, loads)
    integer, intent(in) :: turn
    integer, intent(inout) :: loads
    do while (token(1) < turn)
      call make_progress(loads)
    end do
  end subroutine

  ! Work stealing as in the paper's Listing 1: who wants work asks by a compare-and-swap, and loads until it is told where the work is.
  subroutine steal()
    integer :: local, top, node, amount, loads, thefts, victim, children, i, place
    integer(atomic_int_kind) :: got, left
    stack = 0
    stolen_address = waiting
    stolen_amount = 0
    requestor = nobody
    open_nodes = 1
    local = 0
    top = 0
    loads = 0
    thefts = 0
    if (me == 1) then
      top = 1
      stack(top) = 32
    end if
    sync all
    do
      do while (top > local)
        node = stack(top)
        top = top - 1
        children = children_of(node)
        do i = 1, children
          if (top == capacity) exit
          top = top + 1
          stack(top) = ior(ishft(ishft(node, -5) * 3 + i, 5), iand(node, 31) + 1)
        end do
        call fold(node)
        call atomic_add(open_nodes(1)[1], children - 1)
        call answer(local, top)
        call jitter(60)
      end do
      local = 0
      top = 0
      call answer(local, top)
      call atomic_ref(left, open_nodes(1)[1])
      if (left <= 0) exit
      victim = modulo(me + modulo(thefts, all - 1), all) + 1
      thefts = thefts + 1
      stolen_address(1) = waiting
      call atomic_cas(requestor(1)[victim], got, nobody, me)
      if (got /= nobody) cycle
      do while (stolen_address(1) == waiting)
        call make_progress(loads)
        call answer(local, top)
      end do
      place = stolen_address(1)
      if (place < 0) cycle
      amount = stolen_amount(1)
      stack(1:amount) = stack(place + 1:place + amount)[victim]
      top = amount
      call counted('stole', amount * 100 + victim)
      call counted('loads', loads)
    end do
    ! Others may still wait for an answer.
    call atomic_add(open_nodes(1)[1], -1)
    do while (left > -all)
      call answer(local, top)
      call atomic_ref(left, open_nodes(1)[1])
    end do
  end subroutine

  integer function children_of(node)
    integer, intent(in) :: node
    integer :: depth
    depth = iand(node, 31)
    children_of = modulo(ishft(node, -5) * 7 + ishft(node, -9), 3)
    if (depth < 3) children_of = 2
    if (depth >= 8) children_of = 0
  end function

  subroutine answer(local, top)
    integer, intent(inout) :: local
    integer, intent(in) :: top
    integer :: amount, who
    who = requestor(1)
    if (who < 0) return
    amount = (top - local) / 2
    stolen_amount(1)[who] = amount
    requestor(1) = nobody
    sync memory
    stolen_address(1)[who] = merge(denied, local, amount == 0)
    local = local + amount
    sync memory
    call counted('gave', amount * 100 + who)
  end subroutine

  ! Others write into what an image adds up, and it stores there itself.
  subroutine race()
    integer :: round, i, at, sum_of_all
    box = 0
    sync all
    do round = 1, rounds
      at = modulo(round * 7, slots - 5)
      box(at + 1:at + 5)[next] = round * 10 + me
      sum_of_all = 0
      do i = 1, slots
        sum_of_all = sum_of_all + box(i)
      end do
      box(modulo(round, slots) + 1) = modulo(sum_of_all, 1000)
      call fold(sum_of_all)
      if (modulo(round, 5) == 0) call counted('total', sum_of_all)
    end do
  end subroutine

  ! Counters that others add to, which the image itself loads.
  subroutine atomics()
    integer :: round
    total = 0
    sync all
    do round = 1, rounds
      call atomic_add(total(1)[modulo(me + round, all) + 1], round)
      call fold(total(1))
      if (modulo(round, 5) == 0) call counted('total', total(1))
      call jitter(50)
    end do
  end subroutine

  ! Blocks are copied as a whole.
  subroutine copies()
    integer :: mine(block_size), copy(block_size), round, i
    blocks = 0
    sync all
    do round = 0, rounds - 1
      mine = round * 100 + me
      blocks(:, modulo(round, 8) + 1)[next] = mine
      copy = blocks(:, modulo(round * 3, 8) + 1)
      do i = 1, block_size
        call fold(copy(i))
      end do
      if (modulo(round, 11) == 0) blocks(:, 2) = blocks(:, 3)
      if (modulo(round, 7) == 0) blocks(1:block_size / 2, modulo(round, 8) + 1) = 0
      if (modulo(round, 5) == 0) call counted('last', copy(block_size))
      call jitter(100)
    end do
  end subroutine

  ! Loops that compilers make vectors of.
  subroutine vectors()
    double precision :: twice(length)
    integer :: round, at
    numbers = 0
    sync all
    do round = 1, rounds
      at = modulo(round * 37, length - 16)
      numbers(at + 1:at + 16)[next] = round + 0.5 * me
      twice = numbers * 2 + 1
      numbers(1:length / 2) = numbers(1:length / 2) * 0.5
      call fold(int(sum(twice) * 8))
      if (modulo(round, 5) == 0) call counted('sum', int(sum(twice) * 16))
      call jitter(50)
    end do
  end subroutine
end program
