! What must reach MPI unchanged through every layer: procedures, strings with their hidden lengths, and the addresses
! that mean something (MPI_IN_PLACE, MPI_BOTTOM, ..._IGNORE). Deterministic: a plain run, a recording and a replay agree.
module callbacks
  use mpi
  use fortran_support
  implicit none
contains

  subroutine keep_longest(given, kept, length, datatype)
    integer :: length, datatype, i
    integer :: given(length), kept(length)
    do i = 1, length
      if (abs(given(i)) > abs(kept(i))) kept(i) = given(i)
    end do
    if (datatype /= MPI_INTEGER) call say('another type')
  end subroutine

  subroutine copy_attribute(comm, keyval, extra, given, copied, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, given, copied
    logical :: flag
    call counted('copies', int(given))
    if (comm /= MPI_COMM_WORLD .or. extra /= 77 .or. keyval == MPI_KEYVAL_INVALID) call say('wrong arguments')
    copied = given + 1
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine

  subroutine delete_attribute(comm, keyval, attribute, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: attribute, extra
    call counted('deletes', int(attribute))
    if (comm == MPI_COMM_NULL .or. extra /= 77 .or. keyval == MPI_KEYVAL_INVALID) call say('wrong arguments')
    ierror = MPI_SUCCESS
  end subroutine

  subroutine handle_error(comm, code)
    integer :: comm, code, class, ierror
    call MPI_Error_class(code, class, ierror)
    if (comm == MPI_COMM_WORLD .and. class == MPI_ERR_RANK) call say('an error of rank')
  end subroutine

end module

program fortran_arguments
  use mpi
  use fortran_support
  use callbacks
  implicit none
  integer :: rank, ranks, ierror, op, keyval, copy, handler, info, length, i, datatype
  integer :: numbers(3), requests(2), answers(2), blocks(2)
  integer(MPI_ADDRESS_KIND) :: attribute, displacements(2), one, two
  character(len=MPI_MAX_OBJECT_NAME) :: name
  character(len=40) :: text
  logical :: flag

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call open_output(rank)

  call MPI_Op_create(keep_longest, .true., op, ierror)
  numbers = [rank, -2 * rank, 1]
  call MPI_Allreduce(MPI_IN_PLACE, numbers, 3, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
  call counted('reduced', numbers(1))
  call counted('reduced', numbers(2))
  call MPI_Op_free(op, ierror)

  call MPI_Comm_create_keyval(copy_attribute, delete_attribute, keyval, 77_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 5_MPI_ADDRESS_KIND, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
  call MPI_Comm_get_attr(copy, keyval, attribute, flag, ierror)
  if (flag) call counted('attribute', int(attribute))
  call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval, ierror)

  call MPI_Comm_set_name(copy, 'a name with blanks', ierror)
  call MPI_Comm_get_name(copy, name, length, ierror)
  call say('"' // name(1:length) // '"')
  call MPI_Info_create(info, ierror)
  call MPI_Info_set(info, 'key', 'some value', ierror)
  call MPI_Info_get(info, 'key', 40, text, flag, ierror)
  if (flag) call say('"' // trim(text) // '"')
  call MPI_Info_get(info, 'another key', 40, text, flag, ierror)
  if (flag) call say('a key that nobody set')
  call MPI_Info_free(info, ierror)
  call MPI_Comm_free(copy, ierror)
  call MPI_Comm_free_keyval(keyval, ierror)

  call MPI_Comm_create_errhandler(handle_error, handler, ierror)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
  call MPI_Send(rank, 1, MPI_INTEGER, ranks + 7, 0, MPI_COMM_WORLD, ierror)
  if (ierror /= MPI_SUCCESS) call say('and its code')
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)

  ! By absolute addresses, from the rank before to the rank behind.
  call MPI_Get_address(answers(1), displacements(1), ierror)
  call MPI_Get_address(numbers(3), displacements(2), ierror)
  blocks = 1
  call MPI_Type_create_hindexed(2, blocks, displacements, MPI_INTEGER, datatype, ierror)
  call MPI_Type_commit(datatype, ierror)
  answers = 0
  numbers = 100 * (rank + 1)
  i = modulo(rank + 1, ranks)
  call MPI_Irecv(MPI_BOTTOM, 1, datatype, modulo(rank - 1, ranks), 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend(numbers, 2, MPI_INTEGER, i, 1, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call counted('heard', answers(1))
  call counted('heard', numbers(3))
  call MPI_Type_free(datatype, ierror)
  one = 40
  two = MPI_Aint_add(one, 2_MPI_ADDRESS_KIND)
  call counted('added', int(two))
  if (MPI_Wtick() > 1) call say('a slow clock')
  if (MPI_Wtime() < 0) call say('before all time')
  call MPI_Finalize(ierror)
  call say('done')
end program
