// One message in and one out of each process.
#ifndef SWEEP_MESSAGES_H
#define SWEEP_MESSAGES_H

#include "exchange.h"

enum pattern { kRing, kLine, kOneWay };
// To whom this process sends, and from whom it receives; MPI_PROC_NULL for nobody.
struct route {
  int to, from;
};
void plan_route(struct scenario* s, struct route* route, enum pattern pattern, uint64_t shuffle);

struct message {
  const struct sides* sides;
  uint64_t key;
  int number, tag;
  long units, capacity;
  const struct type* send_type;
  const struct type* receive_type;
  long send_count, receive_count;
  size_t arrives;  // bytes
  struct buffer out, in;
};
// With `exact`, as much arrives as the buffer holds.
void plan_message(struct scenario* s, struct message* m, const struct route* route, int number, bool exact);
void fill_message(const struct scenario* s, struct message* m, int start);
void check_message(const struct scenario* s, struct message* m, int start);
void check_status(const struct message* m, const struct route* route, const MPI_Status* status, const char* call);

void run_sendrecv(struct scenario* s, const struct family* family);
void run_partitioned(struct scenario* s, const struct family* family);

#endif
