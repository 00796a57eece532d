! What the Fortran test programs share, as common.h for those in C: one output file per rank, delays, a digest.
! Nothing here calls MPI, so that it serves all three ways to use it.
module fortran_support
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: int16, int64
  implicit none
  integer, private :: out_unit
  integer(int64), parameter, private :: empty = 1469598103_int64
  integer(int64), private :: digest = empty
contains

  subroutine open_output(rank)
    integer, intent(in) :: rank
    character(len=4096) :: directory, path
    call get_command_argument(1, directory)
    if (directory == '') call get_environment_variable('OUT_DIR', directory)
    if (directory == '') directory = '.'
    write (path, '(a, "/out-", i0, ".txt")') trim(directory), rank
    open (newunit=out_unit, file=trim(path), status='replace', action='write')
  end subroutine

  subroutine say(text)
    character(len=*), intent(in) :: text
    write (out_unit, '(a)') text
    flush (out_unit)
  end subroutine

  ! A part of a program, with a heading and a digest of its own.
  subroutine begin(part)
    character(len=*), intent(in) :: part
    digest = empty
    call say('-- '//part)
  end subroutine

  ! Order-dependent: the same values in another order give another digest.
  subroutine fold(number)
    integer, intent(in) :: number
    digest = modulo(ieor(digest, int(number, int64)) * 1099511_int64, 4398046511093_int64)
  end subroutine

  subroutine took(what, source, tag, number)
    character(len=*), intent(in) :: what
    integer, intent(in) :: source, tag, number
    character(len=200) :: line
    call fold(source * 10007 + tag * 101 + number)
    write (line, '(a, " source ", i0, " tag ", i0, " value ", i0)') what, source, tag, number
    call say(trim(line))
  end subroutine

  subroutine counted(what, number)
    character(len=*), intent(in) :: what
    integer, intent(in) :: number
    character(len=200) :: line
    call fold(number)
    write (line, '(a, ": ", i0)') what, number
    call say(trim(line))
  end subroutine

  ! What went by so far, for a last line that depends on everything.
  integer function seen()
    seen = int(modulo(digest, 1000000007_int64))
  end function

  ! Delays for a random time, about up to max_us microseconds, half of the times asleep and half of the times busy.
  subroutine jitter(max_us)
    interface
      integer(c_int) function usleep(us) bind(c)
        import :: c_int
        integer(c_int), value :: us
      end function
    end interface
    integer, intent(in) :: max_us
    integer(int16) :: bits
    integer, save :: random_unit = 0
    integer, volatile :: sink
    integer :: i, us
    if (random_unit == 0) then
      open (newunit=random_unit, file='/dev/urandom', access='stream', form='unformatted', action='read')
    end if
    read (random_unit) bits
    us = modulo(int(bits) / 2, max_us + 1)
    if (modulo(int(bits), 2) == 0) then
      sink = usleep(us)
    else
      do i = 1, us * 300
        sink = i
      end do
    end if
  end subroutine

end module
