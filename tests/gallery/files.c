/* Files. */
#include <assert.h>

#include "gallery.h"

static MPI_File opened(void) {
  MPI_File file;
  const int rc = MPI_File_open(WORLD, "gallery-file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                               MPI_INFO_NULL, &file);
  assert(rc == MPI_SUCCESS);
  return file;
}

CASE(file_never_closed, "file leak", 2) {
  MPI_File file;
  MPI_File_open(WORLD, "gallery-file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (!wrong) MPI_File_close(&file);
}
CASE(file_closed_by_one, "deadlock", 3) {
  MPI_File file = opened();
  if (!wrong || rank > 0) MPI_File_close(&file);
  else MPI_Barrier(WORLD);
  if (!wrong || rank > 0) MPI_Barrier(WORLD);
  else MPI_File_close(&file);
}
CASE(file_written_by_all_but_one, "collective mismatch", 2) {
  MPI_File file = opened();
  if (wrong && rank == 1) MPI_File_sync(file);
  MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
  if (wrong && rank == 0) MPI_File_sync(file);
  MPI_File_close(&file);
}
CASE(file_read_by_chance, "assertion failure", 3) {
  /* Whose value is in the file depends on whose message comes first. */
  MPI_File file = opened();
  MPI_Status status;
  int first = -1, i;
  for (i = 0; rank == 0 && i < 2; ++i) {
    MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, &status);
    if (i == 0 || !wrong) MPI_File_write_at(file, 4 * (wrong ? 0 : status.MPI_SOURCE), &status.MPI_SOURCE, 1, MPI_INT, MPI_STATUS_IGNORE);
  }
  if (rank != 0) MPI_Send(NULL, 0, MPI_INT, 0, 0, WORLD);
  MPI_File_sync(file);
  MPI_Barrier(WORLD);
  MPI_File_sync(file);
  if (rank == 1) {
    MPI_File_read_at(file, wrong ? 0 : 4, &first, 1, MPI_INT, MPI_STATUS_IGNORE);
    assert(first == 1);
  }
  MPI_File_close(&file);
}
CASE(file_request_never_waited_for, "request leak", 2) {
  MPI_File file = opened();
  MPI_Request request;
  MPI_Datatype every_second;
  int mine[4] = {rank, rank, rank, rank}, all[8], i;
  MPI_Offset size;
  MPI_Group group;
  MPI_Type_vector(4, 1, 2, MPI_INT, &every_second);
  MPI_Type_commit(&every_second);
  MPI_File_set_view(file, 4 * rank, MPI_INT, every_second, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, mine, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_Barrier(WORLD);
  MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
  MPI_File_get_size(file, &size);
  assert(size == 32);
  MPI_File_get_group(file, &group);
  MPI_Group_size(group, &i);
  assert(i == 2);
  MPI_Group_free(&group);
  MPI_File_iread_at(file, 0, all, 8, MPI_INT, &request);
  if (!wrong || rank == 1) {
    MPI_Status status;
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &i);
    assert(i == 8);
    for (i = 0; i < 8; ++i) assert(all[i] == i % 2);
  }
  MPI_Type_free(&every_second);
  MPI_File_close(&file);
}
