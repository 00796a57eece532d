/* One-sided communication: epochs, and accesses that meet. */
#include <assert.h>
#include <string.h>

#include "gallery.h"

enum { N = 8 };
static int memory[N];

static MPI_Win make(void) {
  MPI_Win win;
  memset(memory, 0, sizeof memory);
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, WORLD, &win);
  return win;
}

static MPI_Group group_of(int one) {
  MPI_Group all, some;
  MPI_Comm_group(WORLD, &all);
  MPI_Group_incl(all, 1, &one, &some);
  MPI_Group_free(&all);
  return some;
}

CASE(win_never_freed, "window leak", 2) {
  MPI_Win win;
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, WORLD, &win);
  if (!wrong) MPI_Win_free(&win);
}

CASE(win_null, "invalid argument", 2) {
  MPI_Win win = make();
  MPI_Win null = MPI_WIN_NULL;
  MPI_Win_fence(0, wrong ? null : win);
  MPI_Win_free(&win);
}

CASE(win_target_too_large, "invalid argument", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_lock(MPI_LOCK_SHARED, wrong && rank == 0 ? size : 0, 0, win);
  MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

CASE(win_negative_count, "invalid argument", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, wrong ? -1 : 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_put_without_fence, "outside an epoch", 2) {
  MPI_Win win = make();
  int value = 1;
  if (!wrong) MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_get_without_lock, "outside an epoch", 2) {
  MPI_Win win = make();
  int value = 1;
  if (!wrong) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  if (!wrong) MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

CASE(win_other_target_than_locked, "outside an epoch", 3) {
  MPI_Win win = make();
  int value = 1;
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Accumulate(&value, 1, MPI_INT, wrong ? 2 : 1, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(1, win);
  }
  MPI_Win_free(&win);
}

CASE(win_after_last_fence, "outside an epoch", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  MPI_Win_fence(wrong ? MPI_MODE_NOSUCCEED : 0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_unlock_without_lock, "outside an epoch", 2) {
  MPI_Win win = make();
  if (!wrong) MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

CASE(win_flush_without_lock, "outside an epoch", 2) {
  MPI_Win win = make();
  if (!wrong) MPI_Win_lock_all(0, win);
  MPI_Win_flush(0, win);
  if (!wrong) MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_flush_all_without_lock, "outside an epoch", 2) {
  MPI_Win win = make();
  if (!wrong) MPI_Win_lock_all(0, win);
  MPI_Win_flush_all(win);
  if (!wrong) MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_unlock_all_without_lock, "outside an epoch", 2) {
  MPI_Win win = make();
  if (!wrong) MPI_Win_lock_all(0, win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_complete_without_start, "outside an epoch", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  if (rank == 0) {
    if (!wrong) MPI_Win_start(other, 0, win);
    MPI_Win_complete(win);
  } else if (!wrong) {
    MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

CASE(win_wait_without_post, "outside an epoch", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  if (rank == 0) {
    if (!wrong) MPI_Win_start(other, 0, win);
    if (!wrong) MPI_Win_complete(win);
  } else {
    if (!wrong) MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

CASE(win_lock_never_given_back, "epoch left open", 2) {
  MPI_Win win = make();
  if (rank == 1) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    if (!wrong) MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}

CASE(win_lock_all_never_given_back, "epoch left open", 2) {
  MPI_Win win = make();
  MPI_Win_lock_all(0, win);
  if (!wrong) MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_no_last_fence, "epoch left open", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  if (!wrong) MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_never_completed, "epoch left open", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  if (rank == 0) {
    MPI_Win_start(other, 0, win);
    if (!wrong) MPI_Win_complete(win);
  } else {
    MPI_Win_post(other, 0, win);
    if (!wrong) MPI_Win_wait(win);
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

CASE(win_locked_twice, "epochs overlap", 2) {
  MPI_Win win = make();
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    if (wrong) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    MPI_Win_unlock(1, win);
  }
  MPI_Win_free(&win);
}

CASE(win_lock_inside_lock_all, "epochs overlap", 2) {
  MPI_Win win = make();
  MPI_Win_lock_all(0, win);
  if (!wrong) MPI_Win_unlock_all(win);
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  MPI_Win_unlock(0, win);
  if (wrong) MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_fence_inside_lock, "epochs overlap", 2) {
  MPI_Win win = make();
  MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
  if (!wrong) MPI_Win_unlock(0, win);
  MPI_Win_fence(0, win);
  if (wrong) MPI_Win_unlock(0, win);
  MPI_Win_free(&win);
}

CASE(win_lock_inside_fence, "epochs overlap", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  if (!wrong) MPI_Win_fence(0, win);
  if (rank == 0) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
  if (rank == 0) MPI_Win_unlock(1, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_started_twice, "epochs overlap", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  if (rank == 1) MPI_Win_post(other, MPI_MODE_NOCHECK, win);
  MPI_Barrier(WORLD);
  if (rank == 0) {
    MPI_Win_start(other, MPI_MODE_NOCHECK, win);
    if (wrong) MPI_Win_start(other, MPI_MODE_NOCHECK, win);
    MPI_Win_complete(win);
  } else {
    MPI_Win_wait(win);
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

CASE(win_beyond_its_end, "outside the window", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, wrong ? N : N - 1, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_not_attached, "outside the window", 2) {
  MPI_Win win;
  MPI_Aint address = 0;
  int value = 1;
  MPI_Win_create_dynamic(MPI_INFO_NULL, WORLD, &win);
  if (rank == 1) {
    MPI_Get_address(memory, &address);
    if (!wrong) MPI_Win_attach(win, memory, sizeof memory);
  }
  MPI_Bcast(&address, 1, MPI_AINT, 1, WORLD);
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, address, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  if (rank == 1 && !wrong) {
    assert(memory[0] == 1);
    MPI_Win_detach(win, memory);
  }
  MPI_Win_free(&win);
}

CASE(win_two_puts, "window conflict", 3) {
  MPI_Win win = make();
  MPI_Win_fence(0, win);
  if (rank > 0) MPI_Put(&rank, 1, MPI_INT, 0, wrong ? 1 : rank, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_put_and_get, "window conflict", 3) {
  MPI_Win win = make();
  int value = 7;
  MPI_Win_fence(0, win);
  if (rank == 1) MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  if (!wrong) MPI_Win_fence(0, win);
  if (rank == 2) MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_put_and_accumulate, "window conflict", 3) {
  MPI_Win win = make();
  int value = 7;
  MPI_Win_fence(0, win);
  if (rank == 1 && wrong) MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  if (rank == 1 && !wrong) MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  if (rank == 2) MPI_Accumulate(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
  MPI_Win_fence(0, win);
  if (rank == 0 && !wrong) assert(memory[0] == 14);
  MPI_Win_free(&win);
}

CASE(win_two_puts_of_one_rank, "window conflict", 2) {
  MPI_Win win = make();
  int one = 1, two = 2;
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Put(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    if (!wrong) MPI_Win_flush(1, win);
    MPI_Put(&two, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_shared_locks, "window conflict", 3) {
  MPI_Win win = make();
  if (rank > 0) {
    MPI_Win_lock(wrong ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Win_free(&win);
}

CASE(win_message_before_flush, "window conflict", 3) {
  MPI_Win win = make();
  int value = 5;
  MPI_Win_lock_all(0, win);
  if (rank == 1) {
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    if (!wrong) MPI_Win_flush(0, win);
    MPI_Send(&value, 1, MPI_INT, 2, 0, WORLD);
  } else if (rank == 2) {
    MPI_Recv(&value, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
  }
  MPI_Win_unlock_all(win);
  if (rank == 2 && !wrong) assert(value == 5);
  MPI_Win_free(&win);
}

CASE(win_strided_puts, "window conflict", 3) {
  MPI_Win win = make();
  MPI_Datatype every_other;
  int values[N / 2] = {1, 2, 3, 4};
  MPI_Type_vector(N / 2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  MPI_Win_fence(0, win);
  if (rank == 1) MPI_Put(values, N / 2, MPI_INT, 0, 0, 1, every_other, win);
  if (rank == 2) MPI_Put(values, wrong ? 2 : 1, MPI_INT, 0, 1, wrong ? 2 : 1, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Type_free(&every_other);
  MPI_Win_free(&win);
}

CASE(win_post_without_order, "window conflict", 3) {
  MPI_Win win = make();
  MPI_Group zero = group_of(0), others;
  MPI_Group all;
  MPI_Comm_group(WORLD, &all);
  MPI_Group_difference(all, zero, &others);
  if (rank == 0) {
    MPI_Win_post(others, 0, win);
    MPI_Win_wait(win);
  } else {
    MPI_Win_start(zero, 0, win);
    MPI_Put(&rank, 1, MPI_INT, 0, wrong ? 0 : rank, 1, MPI_INT, win);
    MPI_Win_complete(win);
  }
  MPI_Group_free(&all);
  MPI_Group_free(&zero);
  MPI_Group_free(&others);
  MPI_Win_free(&win);
}

CASE(win_store_beside_put, "window changed by its owner", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  if (rank == 1) memory[wrong ? 0 : 1] = 9;
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_store_beside_get, "window changed by its owner", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_lock_all(0, win);
  if (rank == 1 && !wrong) memory[0] = 9;
  MPI_Barrier(WORLD);
  if (rank == 1 && wrong) memory[0] = 9;
  if (rank == 0) MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_store_while_posted, "window changed by its owner", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  int value = 3;
  if (rank == 0) {
    MPI_Win_start(other, 0, win);
    MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
  } else {
    MPI_Win_post(other, 0, win);
    if (wrong) memory[0] = 9;
    MPI_Win_wait(win);
    if (!wrong) memory[0] = 9;
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

CASE(win_put_buffer_changed, "send buffer changed", 2) {
  MPI_Win win = make();
  int value = 1;
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
  if (wrong) value = 2;
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_two_gets_in_one, "overlapping buffers", 3) {
  MPI_Win win = make();
  int values[2] = {0, 0};
  MPI_Win_fence(0, win);
  if (rank == 0) {
    MPI_Get(&values[0], 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Get(&values[wrong ? 0 : 1], 1, MPI_INT, 2, 0, 1, MPI_INT, win);
  }
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

CASE(win_request_never_awaited, "request leak", 2) {
  MPI_Win win = make();
  MPI_Request request;
  int value = 1;
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Rput(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win, &request);
    if (!wrong) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Who comes first gets 0. */
CASE(win_ticket, "assertion failure", 3) {
  MPI_Win win = make();
  int one = 1, ticket = -1;
  MPI_Win_lock_all(0, win);
  if (rank > 0) {
    MPI_Fetch_and_op(&one, &ticket, MPI_INT, 0, 0, MPI_SUM, win);
    MPI_Win_flush(0, win);
    assert(wrong ? ticket == rank - 1 : ticket == 0 || ticket == 1);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

/* Read, then write: two ranks may read the same. */
CASE(win_lost_update, "assertion failure", 3) {
  MPI_Win win = make();
  int value = 0;
  if (rank > 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    if (wrong) {
      MPI_Win_unlock(0, win);
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    } else {
      MPI_Win_flush(0, win);
    }
    ++value;
    MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
  }
  MPI_Barrier(WORLD);
  if (rank == 0) assert(memory[0] == 2);
  MPI_Win_free(&win);
}

CASE(win_compare_and_swap_loses, "assertion failure", 3) {
  MPI_Win win = make();
  int zero = 0, found = -1;
  MPI_Win_lock_all(0, win);
  if (rank > 0) {
    MPI_Compare_and_swap(&rank, &zero, &found, MPI_INT, 0, 0, win);
    MPI_Win_flush(0, win);
    assert(wrong ? found == 0 : found == 0 || found == 3 - rank);
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

CASE(win_locks_in_two_orders, "deadlock", 2) {
  MPI_Win win = make();
  const int first = wrong ? rank : 0;
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, first, 0, win);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - first, 0, win);
  MPI_Win_unlock(1 - first, win);
  MPI_Win_unlock(first, win);
  MPI_Win_free(&win);
}

CASE(win_nobody_posts, "deadlock", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  if (rank == 0) {
    MPI_Win_start(other, 0, win);
    MPI_Win_complete(win);
  } else if (!wrong) {
    MPI_Win_post(other, 0, win);
    MPI_Win_wait(win);
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

CASE(win_fence_without_one, "deadlock", 2) {
  MPI_Win win = make();
  if (!wrong || rank == 0) MPI_Win_fence(0, win);
  MPI_Barrier(WORLD);
  MPI_Win_free(&win);
}

/* The target waits for a message that is sent only after the get: it must serve while it waits. */
CASE(win_served_while_it_waits, "assertion failure", 2) {
  MPI_Win win = make();
  MPI_Group other = group_of(1 - rank);
  memory[0] = 42;
  if (rank == 0) {
    int value = 0;
    MPI_Win_start(other, 0, win);
    MPI_Get(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_complete(win);
    assert(value == (wrong ? 41 : 42));
    send_one(value);
  } else {
    MPI_Win_post(other, 0, win);
    receive_one();
    MPI_Win_wait(win);
  }
  MPI_Group_free(&other);
  MPI_Win_free(&win);
}

/* Every kind of access, and what comes of it. */
CASE(win_values, "assertion failure", 2) {
  MPI_Win win;
  double* shared;
  double mine[2] = {1.5, 2.5}, old[2] = {0, 0};
  MPI_Request requests[2];
  int flag, *flavor;
  MPI_Win_allocate(4 * sizeof(double), sizeof(double), MPI_INFO_NULL, WORLD, &shared, &win);
  MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &flavor, &flag);
  assert(flag && *flavor == MPI_WIN_FLAVOR_ALLOCATE);
  for (int i = 0; i < 4; ++i) shared[i] = i;
  MPI_Barrier(WORLD);
  MPI_Win_lock_all(0, win);
  if (rank == 0) {
    MPI_Get_accumulate(mine, 2, MPI_DOUBLE, old, 2, MPI_DOUBLE, 1, 0, 2, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_flush(1, win);
    MPI_Rput(mine, 1, MPI_DOUBLE, 1, 2, 1, MPI_DOUBLE, win, &requests[0]);
    MPI_Rget(&mine[1], 1, MPI_DOUBLE, 1, 3, 1, MPI_DOUBLE, win, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
    assert(old[0] == 0 && old[1] == 1 && mine[1] == 3);
  }
  MPI_Win_unlock_all(win);
  MPI_Barrier(WORLD);
  if (rank == 1) assert(shared[0] == 1.5 && shared[1] == 3.5 && shared[2] == (wrong ? 2 : 1.5));
  MPI_Win_free(&win);
}

/* Memory that both have. */
CASE(win_shared_memory, "assertion failure", 2) {
  MPI_Win win;
  int *mine, *first, unit;
  MPI_Aint bytes;
  MPI_Win_allocate_shared(4, 4, MPI_INFO_NULL, WORLD, &mine, &win);
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_fence(0, win);
  if (rank == 1) first[0] = 17;
  MPI_Win_fence(0, win);
  if (rank == 0) assert(*mine == (wrong ? 0 : 17));
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}
