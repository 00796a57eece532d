/* Messages that never come, or that nobody takes. */
#include "gallery.h"

#define RECEIVE(SOURCE, TAG) MPI_Recv(&x, 1, MPI_INT, SOURCE, TAG, WORLD, MPI_STATUS_IGNORE)
#define SEND(DEST, TAG) MPI_Send(&x, 1, MPI_INT, DEST, TAG, WORLD)

CASE(both_receive_first, "deadlock", 2) {
  int x = 1;
  if (wrong || rank == 1) RECEIVE(1 - rank, 0);
  SEND(1 - rank, 0);
  if (!wrong && rank == 0) RECEIVE(1 - rank, 0);
}
CASE(both_send_first, "deadlock", 2) {
  int x = 1;
  if (wrong || rank == 0) SEND(1 - rank, 0);
  RECEIVE(1 - rank, 0);
  if (!wrong && rank == 1) SEND(1 - rank, 0);
}
CASE(ring_of_sends, "deadlock", 3) {
  int x = 1;
  if (!wrong && rank == 0) RECEIVE(2, 0);
  MPI_Ssend(&x, 1, MPI_INT, (rank + 1) % 3, 0, WORLD);
  if (wrong || rank != 0) RECEIVE((rank + 2) % 3, 0);
}
CASE(other_tag, "deadlock", 2) {
  int x = 1;
  if (rank == 0) MPI_Ssend(&x, 1, MPI_INT, 1, wrong ? 2 : 1, WORLD);
  else RECEIVE(0, 1);
}
CASE(other_communicator, "deadlock", 2) {
  int x = 1;
  MPI_Comm twin;
  MPI_Comm_dup(WORLD, &twin);
  if (rank == 0) MPI_Ssend(&x, 1, MPI_INT, 1, 0, wrong ? WORLD : twin);
  else MPI_Recv(&x, 1, MPI_INT, 0, 0, twin, MPI_STATUS_IGNORE);
  MPI_Comm_free(&twin);
}
CASE(waits_for_nobody, "deadlock", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    if (!wrong) SEND(1, 0);
  } else {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(probes_for_nobody, "deadlock", 2) {
  int x = 1;
  if (rank == 0) SEND(1, 0);
  else {
    MPI_Probe(0, wrong ? 1 : 0, WORLD, MPI_STATUS_IGNORE);
    RECEIVE(0, 0);
  }
}
CASE(message_is_stolen, "deadlock", 3) {
  /* The receive from anybody may take what the next one waits for. */
  int x = 1;
  if (rank > 0) SEND(0, 0);
  else {
    if (!wrong) RECEIVE(1, 0);
    RECEIVE(MPI_ANY_SOURCE, 0);
    if (wrong) RECEIVE(1, 0);
  }
}
CASE(tag_is_stolen, "deadlock", 2) {
  int x = 1;
  if (rank == 1) {
    SEND(0, 1);
    SEND(0, 2);
  } else {
    RECEIVE(1, wrong ? MPI_ANY_TAG : 1);
    RECEIVE(1, wrong ? 1 : 2);
  }
}
CASE(one_message_too_few, "deadlock", 3) {
  int x = 1;
  if (rank > 0) {
    if (!wrong || rank == 1) SEND(0, 0);
  } else {
    RECEIVE(MPI_ANY_SOURCE, 0);
    RECEIVE(MPI_ANY_SOURCE, 0);
  }
}
CASE(worker_is_not_told, "deadlock", 3) {
  /* A master hands out three pieces of work and tells its workers to stop, one of them perhaps twice. */
  int x = 0, sent = 0;
  MPI_Status status;
  if (rank > 0) {
    do {
      SEND(0, 0);
      RECEIVE(0, 0);
    } while (x >= 0);
    return;
  }
  for (int stopped = 0; stopped < 2;) {
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, &status);
    x = sent < 2 ? sent : -1;
    ++sent;
    if (x < 0) ++stopped;
    if (wrong && x < 0 && status.MPI_SOURCE == 1) continue;
    SEND(status.MPI_SOURCE, 0);
  }
}
CASE(waitall_before_send, "deadlock", 2) {
  int x = 1, y;
  MPI_Request request;
  MPI_Irecv(&y, 1, MPI_INT, 1 - rank, 0, WORLD, &request);
  if (wrong) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  SEND(1 - rank, 0);
  if (!wrong) MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
}
CASE(persistent_never_started_by_one, "deadlock", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    if (!wrong) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
  } else {
    RECEIVE(0, 0);
  }
}
CASE(polls_for_ever, "livelock", 2) {
  int x = 1, flag = 0;
  if (rank == 0) {
    if (!wrong) SEND(1, 0);
  } else {
    while (!flag) MPI_Iprobe(0, 0, WORLD, &flag, MPI_STATUS_IGNORE);
    RECEIVE(0, 0);
  }
}
CASE(tests_for_ever, "livelock", 2) {
  int x = 1, flag = 0;
  MPI_Request request;
  if (rank == 0) SEND(1, wrong ? 1 : 0);
  else {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  }
}
CASE(nobody_receives, "unmatched send", 2) {
  static char room[MPI_BSEND_OVERHEAD + 64];
  int x = 1;
  if (rank == 0) {
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(&x, 1, MPI_INT, 1, 0, WORLD);
  } else if (!wrong) {
    RECEIVE(0, 0);
  }
}
