// UCX calls back to pack and unpack what does not lie in one piece: MPICH's and Open MPI's datatype engines, which may
// move small blocks by plain loads and stores. What the callbacks were given and what they made of it is told.
#include "frontends/movements/next.hpp"

namespace {

using namespace reprise::movements;

// As in ucp.h, the same in all versions with a number 1.x.
struct Operations {
  void* (*start_pack)(void* context, const void* buffer, std::size_t count);
  void* (*start_unpack)(void* context, void* buffer, std::size_t count);
  std::size_t (*packed_size)(void* state);
  std::size_t (*pack)(void* state, std::size_t offset, void* to, std::size_t room);
  int (*unpack)(void* state, std::size_t offset, const void* from, std::size_t bytes);
  void (*finish)(void* state);
};

// Never freed: UCX does not say when it needs a datatype's context for the last time.
struct Context {
  Operations theirs;
  void* context;
};

struct State {
  const Context* made_by;
  void* state;
  const void* buffer;
  std::size_t elements;
};

State* new_state(const Context* made_by, void* state, const void* buffer, std::size_t elements) {
  return new State{made_by, state, buffer, elements};
}

void* start_pack(void* context, const void* buffer, std::size_t count) {
  const auto* const own = static_cast<const Context*>(context);
  return new_state(own, own->theirs.start_pack(own->context, buffer, count), buffer, count);
}

void* start_unpack(void* context, void* buffer, std::size_t count) {
  const auto* const own = static_cast<const Context*>(context);
  return new_state(own, own->theirs.start_unpack(own->context, buffer, count), buffer, count);
}

std::size_t packed_size(void* state) {
  const auto* const own = static_cast<const State*>(state);
  return own->made_by->theirs.packed_size(own->state);
}

std::size_t pack(void* state, std::size_t offset, void* to, std::size_t room) {
  const auto* const own = static_cast<const State*>(state);
  const std::size_t bytes = own->made_by->theirs.pack(own->state, offset, to, room);
  const KeptErrno kept;
  if (const Hooks* const hooks = listener())
    hooks->packed(own->buffer, own->elements, offset, to, bytes, reinterpret_cast<const void*>(own->made_by->theirs.pack));
  return bytes;
}

int unpack(void* state, std::size_t offset, const void* from, std::size_t bytes) {
  const auto* const own = static_cast<const State*>(state);
  const int status = own->made_by->theirs.unpack(own->state, offset, from, bytes);
  const KeptErrno kept;
  if (const Hooks* const hooks = listener())
    hooks->unpacked(own->buffer, own->elements, offset, from, bytes, reinterpret_cast<const void*>(own->made_by->theirs.unpack));
  return status;
}

void finish(void* state) {
  const auto* const own = static_cast<const State*>(state);
  own->made_by->theirs.finish(own->state);
  delete own;
}

constexpr Operations kOwn{&start_pack, &start_unpack, &packed_size, &pack, &unpack, &finish};

using Create = int (*)(const Operations*, void*, std::uint64_t*);
// Open MPI loads UCX for itself, where RTLD_NEXT does not look.
Create next_create() {
  static const Create found = [] {
    void* known = dlsym(RTLD_NEXT, "ucp_dt_create_generic");
    if (void* const library = known ? nullptr : dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD))
      known = dlsym(library, "ucp_dt_create_generic");
    return reinterpret_cast<Create>(known);
  }();
  return found;
}
constexpr int kUnsupported = -22;  // UCS_ERR_UNSUPPORTED

}  // namespace

REPRISE_EXPORTED int ucp_dt_create_generic(const Operations* theirs, void* context, std::uint64_t* type) {
  const Create next = next_create();
  return next ? next(&kOwn, new Context{*theirs, context}, type) : kUnsupported;
}

REPRISE_EXPORTED Active* reprise_movements_attach(const Hooks* hooks) {
  g_hooks.store(hooks, std::memory_order_release);
  return &g_active;
}
