// MPI-IO: a file that all ranks write together and read in every way, with views; what is written depends on the order of
// messages. A rank that runs alone finds no such file.
#include "common.h"

enum { kEach = 48 };

static void show(const char* what, const int* values, int count) {
  for (int i = 0; i < count; ++i) fold((uint64_t)values[i]);
  say("%s %d %d ... %d", what, values[0], values[1], values[count - 1]);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  char path[4096];
  snprintf(path, sizeof path, "%s/shared.bin", out_dir);
  for (int round = 0; round < 3; ++round) {
    hear_everybody(300);
    uint64_t root = digest;
    MPI_Bcast(&root, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);

    MPI_File file;
    MPI_Status status;
    MPI_Offset size, position;
    int values[kEach], count, amode;
    int rc = MPI_File_open(MPI_COMM_WORLD, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    int class;
    MPI_Error_class(rc, &class);
    say("missing: %s", class == MPI_SUCCESS ? "opened" : "refused");
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < kEach; ++i) values[i] = (int)(root % 1000) * 100 + world_rank * 50 + i;
    MPI_File_write_at_all(file, (MPI_Offset)world_rank * (MPI_Offset)sizeof values, values, kEach, MPI_INT, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    say("wrote %d", count);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    const int other = (world_rank + 1) % world_size;
    const MPI_Offset at = (MPI_Offset)other * (MPI_Offset)sizeof values;
    memset(values, 0, sizeof values);
    MPI_File_read_at(file, at, values, kEach, MPI_INT, &status);
    show("read_at", values, kEach);
    MPI_File_seek(file, at, MPI_SEEK_SET);
    MPI_File_read(file, values, 5, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_get_position(file, &position);
    MPI_File_get_size(file, &size);
    MPI_File_get_amode(file, &amode);
    show("read", values, 5);
    say("position %lld size %lld mode %d", (long long)(position - at), (long long)size, amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    MPI_Datatype every;
    MPI_Type_vector(kEach, 1, world_size, MPI_INT, &every);
    MPI_Type_commit(&every);
    MPI_File_set_view(file, (MPI_Offset)world_rank * (MPI_Offset)sizeof(int), MPI_INT, every, "native", MPI_INFO_NULL);
    MPI_File_read_all(file, values, kEach, MPI_INT, &status);
    show("read_all through a view", values, kEach);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_Request request;
    MPI_File_iread_at(file, other, values, 7, MPI_INT, &request);
    MPI_Wait(&request, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    show("iread_at", values, count);
    MPI_File_read_at_all_begin(file, world_rank, values, 9, MPI_INT);
    MPI_File_read_at_all_end(file, values, &status);
    show("split read", values, 9);
    MPI_File_read_at(file, (MPI_Offset)kEach * world_size - 3, values, 10, MPI_INT, &status);  // the end comes first
    MPI_Get_count(&status, MPI_INT, &count);
    say("at the end %d", count);
    MPI_Group group;
    MPI_File_get_group(file, &group);
    int members;
    MPI_Group_size(group, &members);
    say("opened by %d", members);
    MPI_Group_free(&group);
    MPI_Type_free(&every);
    MPI_File_close(&file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0) MPI_File_delete(path, MPI_INFO_NULL);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  finish();
}
