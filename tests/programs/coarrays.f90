! Coarrays: what an image reads is decided by who came first. A word chooses one part.
program coarrays
  use, intrinsic :: iso_fortran_env
  use fortran_support
  implicit none
  integer, parameter :: rounds = 5
  character(len=32) :: part
  integer :: me, all, round
  integer :: box(8)[*], count[*]
  integer(atomic_int_kind) :: tickets[*]
  type(lock_type) :: door[*]
  type(event_type) :: filled[*], emptied[*]

  me = this_image()
  all = num_images()
  call open_output(me - 1)
  call get_command_argument(2, part)
  box = 0
  count = 0
  tickets = 0
  sync all
  select case (part)
  case ('puts'); call puts()
  case ('gets'); call gets()
  case ('locks'); call locks()
  case ('critical'); call in_turn()
  case ('events'); call events()
  case ('atomics'); call atomics()
  case ('collectives'); call collectives()
  case ('allocated'); call allocated_ones()
  end select
  sync all
  call counted('I saw', seen())

contains

  integer function right()
    right = modulo(me, all) + 1
  end function

  integer function left()
    left = modulo(me - 2, all) + 1
  end function

  ! Who comes first gets the lower one, mostly: between the two, others may come.
  integer function ticket()
    integer(atomic_int_kind) :: now
    call jitter(200)
    call atomic_add(tickets[1], 1)
    call atomic_ref(now, tickets[1])
    ticket = now * 10 + me
  end function

  subroutine show(what, numbers)
    character(len=*), intent(in) :: what
    integer, intent(in) :: numbers(:)
    integer :: i
    do i = 1, size(numbers)
      call counted(what, numbers(i))
    end do
  end subroutine

  subroutine puts()
    do round = 1, rounds
      box(1:4)[right()] = ticket()
      box(5)[left()] = ticket()
      box(6:8:2)[right()] = [ticket(), me]
      sync all
      call show('box', box)
      sync all
    end do
  end subroutine

  subroutine gets()
    integer :: got(8)
    do round = 1, rounds
      box(:) = ticket()
      sync images ([left(), right()])
      got = box(:)[right()]
      call show('got', got)
      sync all
      got(1:3) = box(2:6:2)[left()]
      call show('every second', got(1:3))
      sync all
    end do
  end subroutine

  subroutine locks()
    do round = 1, rounds
      call jitter(100)
      lock (door[1])
      call counted('under the lock', count[1])
      count[1] = count[1] * 3 + me
      unlock (door[1])
    end do
    sync all
    call counted('after all', count)
  end subroutine

  subroutine in_turn()
    do round = 1, rounds
      call jitter(100)
      critical
        call counted('alone', count[1])
        count[1] = modulo(count[1] * 3 + me, 100003)
      end critical
    end do
    sync all
    call counted('after all', count)
  end subroutine

  subroutine events()
    integer :: waiting
    do round = 1, rounds
      box(1)[right()] = ticket()
      event post (filled[right()])
      event wait (filled)
      call counted('filled', box(1))
      event post (emptied[left()])
      event wait (emptied)
    end do
    call jitter(100)
    event post (filled[1])
    if (me == 1) then
      call event_query(filled, waiting)
      event wait (filled, until_count=all)
    end if
  end subroutine

  subroutine atomics()
    integer(atomic_int_kind) :: now, old
    do round = 1, rounds
      call jitter(100)
      call atomic_cas(tickets[2], old, round - 1, round)
      call atomic_ref(now, tickets[2])
      call counted('swapped', int(now))
      call atomic_add(tickets[1], me)
      call atomic_ref(now, tickets[1])
      call counted('added', int(now))
      call atomic_or(tickets[right()], 64 * me)
      call atomic_xor(tickets[right()], 1024 * me)
      call atomic_and(tickets[right()], 2**30 - 1)
    end do
    sync all
    call atomic_ref(now, tickets)
    call counted('own', int(now))
  end subroutine

  subroutine collectives()
    integer :: numbers(3), sum
    real(real64) :: reals(2)
    do round = 1, rounds
      numbers = [ticket(), me, round]
      call co_sum(numbers)
      call show('sum', numbers)
      numbers = [ticket(), me, round]
      call co_max(numbers)
      call show('max', numbers)
      sum = ticket()
      call co_min(sum)
      call counted('min', sum)
      numbers = [ticket(), me, round]
      call co_broadcast(numbers, modulo(round, all) + 1)
      call show('broadcast', numbers)
      reals = real(ticket(), real64) / 7
      call co_sum(reals, 1)
      if (me == 1) call counted('real', int(reals(2) * 1000))
    end do
  end subroutine

  subroutine allocated_ones()
    integer, allocatable :: heap(:)[:]
    integer :: got(4)
    do round = 1, rounds
      allocate (heap(10 * round)[*])
      heap = ticket()
      sync all
      got = heap(1:4)[right()]
      call show('heap', got)
      deallocate (heap)
    end do
  end subroutine
end program
