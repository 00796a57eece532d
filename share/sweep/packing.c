// MPI_Pack and MPI_Unpack, locally and by messages of MPI_PACKED, and the external32 format, which is defined byte by byte.
#include "messages.h"

// The same data, packed with one datatype and unpacked with another of the same signature.
static void run_pack(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  (void)family;
  plan_comm(s, kIntra);
  struct sides* sides = KEEP(struct sides, 1);
  draw_sides(s, sides, false);
  const long units = draw_units(d, sides, 2);
  const bool sends_packed = draw_chance(d, 50), receives_packed = !sends_packed || draw_chance(d, 50);
  const int pieces = (int)draw_between(d, 1, 3);
  const uint64_t shuffle = draw_bits(d);
  describe(s, "MPI_Pack", ", %s, %s, %d times %ld, %s", sends_packed ? "sent as MPI_PACKED" : "sent by type",
           receives_packed ? "received as MPI_PACKED" : "received by type", pieces, units, sides->text);
  if (!begin(s)) return;
  const struct comm* c = &s->comm;
  struct route route;
  plan_route(s, &route, kRing, shuffle);
  const uint64_t me = local_id(c, c->rank), from = local_id(c, route.from);
  const struct type *out = sides->send[side_of(sides, mix(me, 1))], *in = sides->receive[side_of(sides, mix(me, 2))];
  const int send_count = (int)(units * sides->per_send[side_of(sides, mix(me, 1))]);
  const int receive_count = (int)(units * sides->per_receive[side_of(sides, mix(me, 2))]);
  struct buffer give = {0}, take = {0}, between = {0}, arrived = {0};
  // Several packed parts make one message, which one call may send or receive by its type.
  add_block(&give, 0, (long)send_count * pieces, out, me + 1, me + 1);
  add_block(&take, 0, (long)receive_count * pieces, in, NOTHING, from + 1);
  make_buffer(&give, "send", NULL);
  make_buffer(&take, "receive", NULL);
  fill_buffer(s, &give, 0);
  int size_out, size_in, position = 0;
  if (!DO(MPI_Pack_size(send_count, out->handle, c->handle, &size_out)) ||
      !DO(MPI_Pack_size(receive_count, in->handle, c->handle, &size_in)))
    return;
  if ((size_t)size_out < (size_t)send_count * out->size) wrong("MPI_Pack_size is %d, less than the data", size_out);
  const struct type* byte = basic_type(find_basic(MPI_BYTE));
  // The receiver knows neither how the sender nor how MPI packs: let there be room for both.
  add_block(&between, 0, (long)size_out * pieces, byte, NOTHING, ANYTHING);
  add_block(&arrived, 0, ((long)size_in + 64) * pieces + 64 + 2 * receive_count * (long)in->size * pieces, byte, NOTHING, ANYTHING);
  make_buffer(&between, "packed", NULL);
  make_buffer(&arrived, "arriving packed", NULL);
  for (int i = 0; sends_packed && i < pieces; ++i)
    if (!DO(MPI_Pack(give.address + i * send_count * out->extent, send_count, out->handle, between.address,
                     size_out * pieces, &position, c->handle)))
      return;
  MPI_Request request;
  MPI_Status status, ignored;
  const bool sent = sends_packed ? DO(MPI_Isend(between.address, position, MPI_PACKED, route.to, 5, c->handle, &request))
                                 : DO(MPI_Isend(give.address, send_count * pieces, out->handle, route.to, 5, c->handle, &request));
  if (!sent) return;
  if (receives_packed) {
    const int room = (int)arrived.blocks[0].count;
    int length, at = 0;
    if (!DO(MPI_Recv(arrived.address, room, MPI_PACKED, route.from, 5, c->handle, &status)) ||
        !DO(MPI_Get_count(&status, MPI_PACKED, &length)))
      return;
    for (int i = 0; i < pieces; ++i)
      if (!DO(MPI_Unpack(arrived.address, length, &at, take.address + i * receive_count * in->extent, receive_count, in->handle,
                         c->handle)))
        return;
  } else if (!DO(MPI_Recv(take.address, receive_count * pieces, in->handle, route.from, 5, c->handle, &status))) {
    return;
  }
  if (!DO(MPI_Wait(&request, &ignored))) return;
  check_buffer(s, &take, 0);
  check_buffer(s, &give, 0);
  check_buffer(s, &between, 0);
  check_buffer(s, &arrived, 0);
}

// MPI 3.1, 13.5.2: big-endian, without padding. Types of other sizes there than here are left out.
static bool external_size(int basic) {
  const MPI_Datatype h = basics[basic].handle;
  return h != MPI_LONG && h != MPI_UNSIGNED_LONG && h != MPI_WCHAR;
}

static void run_external(struct scenario* s, const struct family* family) {
  struct draw* d = &s->draw;
  struct signature unit;
  (void)family;
  do draw_signature(d, &unit);
  while (unit.length > 1 || !external_size(unit.basic[0]));
  const int repeats = (int)draw_between(d, 1, 20);
  struct draw own = {mix(s->key, 100)};
  const struct type* type = make_type(&own, &unit, repeats);
  const long count = draw_between(d, 0, draw_chance(d, 20) ? 3000 : 20);
  snprintf(s->comm.text, sizeof s->comm.text, "one process");
  describe(s, "MPI_Pack_external", ", count %ld, %s of %s", count, type->name, basics[unit.basic[0]].name);
  s->comm.kind = kSelf;
  s->comm.member = true;
  s->comm.size = 1;
  s->comm.rank = s->comm.side = s->comm.remote = 0;
  if (!begin(s)) return;
  const size_t bytes = (size_t)count * type->size;
  MPI_Aint size, position = 0;
  char format[] = "external32";
  if (!DO(MPI_Pack_external_size(format, (int)count, type->handle, &size))) return;
  if (size != (MPI_Aint)bytes) wrong("MPI_Pack_external_size is %ld, should be %zu", (long)size, bytes);
  if (is_wrong()) return;
  struct buffer in = {0}, out = {0}, packed = {0};
  add_block(&in, 0, count, type, 1, 1);
  add_block(&out, 0, count, type, NOTHING, 1);
  add_block(&packed, 0, (long)bytes, basic_type(find_basic(MPI_BYTE)), NOTHING, NOTHING);
  make_buffer(&in, "send", NULL);
  make_buffer(&out, "receive", NULL);
  make_buffer(&packed, "packed", NULL);
  fill_buffer(s, &in, 0);
  if (!DO(MPI_Pack_external(format, in.address, (int)count, type->handle, packed.address, size, &position))) return;
  if (position != size) wrong("MPI_Pack_external: the position is %ld, should be %ld", (long)position, (long)size);
  // What is expected: the bytes of every number in big-endian order.
  const int one = 1;
  const bool little = *(const char*)&one == 1;
  const MPI_Datatype h = basics[unit.basic[0]].handle;
  const bool complex = h == MPI_C_FLOAT_COMPLEX || h == MPI_C_DOUBLE_COMPLEX;
  const size_t width = (size_t)basics[unit.basic[0]].size / (complex ? 2 : 1);
  unsigned char* native = keep(bytes);
  unsigned char* expected = packed.expected + (packed.address - packed.memory);
  data_bytes(mix(mix(s->key, 0), 1), bytes, native);
  for (size_t i = 0; i < bytes; ++i) expected[i] = native[little ? i / width * width + (width - 1 - i % width) : i];
  if (!compare_buffer(&packed, 0)) return;
  position = 0;
  if (!DO(MPI_Unpack_external(format, packed.address, size, &position, out.address, (int)count, type->handle))) return;
  if (position != size) wrong("MPI_Unpack_external: the position is %ld, should be %ld", (long)position, (long)size);
  check_buffer(s, &out, 0);
  check_buffer(s, &in, 0);
}

const struct family packing_families[] = {
    {"pack", run_pack, 0},
    {"pack_external", run_external, 0},
    {NULL, NULL, 0},
};
