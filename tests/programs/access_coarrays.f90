! Coarrays whose elements are loaded until another image has changed them, without any statement of synchronisation in between.
program access_coarrays
  use fortran_support
  implicit none
  integer, parameter :: turns = 10, length = 100
  integer, volatile :: token[*]
  integer, allocatable :: box(:)[:]
  integer :: me, all, turn, loads, i, total

  me = this_image()
  all = num_images()
  call open_output(me - 1)
  allocate (box(length)[*])
  box = 0
  token = 0
  sync all
  loads = 0
  do turn = 1, turns
    if (me > 1) then
      do while (token < turn)
        loads = loads + 1
      end do
    end if
    call counted('loads', loads)
    token[modulo(me, all) + 1] = turn
    sync memory
    if (me == 1) then
      do while (token < turn)
        loads = loads + 1
      end do
    end if
  end do
  sync all
  do turn = 1, 4 * turns
    box(modulo(turn * 7, length - 5) + 1:modulo(turn * 7, length - 5) + 5)[modulo(me, all) + 1] = turn * 10 + me
    total = 0
    do i = 1, length
      total = total + box(i)
    end do
    box(modulo(turn, length) + 1) = modulo(total, 1000)
    call fold(total)
    if (modulo(turn, 10) == 0) call counted('total', total)
  end do
  sync all
  call counted('I saw', seen())
end program
