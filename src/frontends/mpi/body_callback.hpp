// Functions of the program that MPI calls back: error handlers, attribute functions, those of generalised requests.
//
// They are called from inside MPI calls, may call MPI themselves, and may leave by an exception or longjmp. Each gets a
// trampoline that steps outside first, so that what it calls is seen, logged and forced like any other call.
//
// Not so the functions of MPI_Op_create: a library calls them whenever it makes progress, in whatever call that may be,
// so their place in the sequence of calls is not reproducible. MPI allows them no communication, only MPI_Abort, which
// is always seen. Nor functions that come from Fortran: the library calls those by Fortran's rules.
#pragma once

#include "engine/session.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/give_way.hpp"

namespace reprise::mpi::bodies {

MPI_Comm_errhandler_function* outside_comm(MPI_Comm_errhandler_function* handler);
MPI_Win_errhandler_function* outside_win(MPI_Win_errhandler_function* handler);
MPI_File_errhandler_function* outside_file(MPI_File_errhandler_function* handler);

template <class Real, class Handler>
int create_errhandler(Entry& entry, Real real, Handler* trampoline, MPI_Errhandler* errhandler) {
  entry.begin(Call{});
  stop_giving_way();
  const int rc = real(trampoline, errhandler);
  entry.end();
  return rc;
}

template <class Real>
int Comm_create_errhandler(Entry& entry, Real real, MPI_Comm_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return create_errhandler(entry, real, outside_comm(handler), errhandler);
}
template <class Real>
int Win_create_errhandler(Entry& entry, Real real, MPI_Win_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return create_errhandler(entry, real, outside_win(handler), errhandler);
}
template <class Real>
int File_create_errhandler(Entry& entry, Real real, MPI_File_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return create_errhandler(entry, real, outside_file(handler), errhandler);
}
template <class Real>
int Errhandler_create(Entry& entry, Real real, MPI_Comm_errhandler_function* handler, MPI_Errhandler* errhandler) {
  return create_errhandler(entry, real, outside_comm(handler), errhandler);
}

template <class Real>
int Comm_set_errhandler(Entry& entry, Real real, MPI_Comm comm, MPI_Errhandler errhandler) {
  Call call;
  call.comm(comm);
  entry.begin(call);
  errors_may_return();
  const int rc = real(comm, errhandler);
  entry.end();
  return rc;
}
template <class Real>
int Errhandler_set(Entry& entry, Real real, MPI_Comm comm, MPI_Errhandler errhandler) {
  return Comm_set_errhandler(entry, real, comm, errhandler);
}

// Attribute functions and those of generalised requests get a pointer of the program's choice (extra_state): ours goes
// in its place and leads to the functions and to the program's own. It lives as long as the process, since attributes
// may be deleted as late as in MPI_Finalize.
template <class Copy, class Delete>
struct AttributeFunctions {
  Copy* copy;
  Delete* remove;
  void* state;

  template <class Object>
  static int call_copy(Object object, int keyval, void* extra, void* in, void* out, int* flag) {
    const auto* functions = static_cast<AttributeFunctions*>(extra);
    Outside outside;
    return functions->copy(object, keyval, functions->state, in, out, flag);
  }
  template <class Object>
  static int call_delete(Object object, int keyval, void* value, void* extra) {
    const auto* functions = static_cast<AttributeFunctions*>(extra);
    Outside outside;
    return functions->remove(object, keyval, value, functions->state);
  }
};

template <class Object, class Real, class Copy, class Delete>
int create_keyval(Entry& entry, Real real, Copy* copy, Delete* remove, int* keyval, void* state) {
  entry.begin(Call{});
  int rc;
  if ((!copy && !remove) || entry.through_fortran()) {
    rc = real(copy, remove, keyval, state);
  } else {
    using Functions = AttributeFunctions<Copy, Delete>;
    rc = real(copy ? Functions::template call_copy<Object> : nullptr,
              remove ? Functions::template call_delete<Object> : nullptr, keyval, new Functions{copy, remove, state});
  }
  entry.end();
  return rc;
}

template <class Real, class Copy, class Delete>
int Comm_create_keyval(Entry& entry, Real real, Copy* copy, Delete* remove, int* keyval, void* state) {
  return create_keyval<MPI_Comm>(entry, real, copy, remove, keyval, state);
}
template <class Real, class Copy, class Delete>
int Keyval_create(Entry& entry, Real real, Copy* copy, Delete* remove, int* keyval, void* state) {
  return create_keyval<MPI_Comm>(entry, real, copy, remove, keyval, state);
}
template <class Real, class Copy, class Delete>
int Type_create_keyval(Entry& entry, Real real, Copy* copy, Delete* remove, int* keyval, void* state) {
  return create_keyval<MPI_Datatype>(entry, real, copy, remove, keyval, state);
}
template <class Real, class Copy, class Delete>
int Win_create_keyval(Entry& entry, Real real, Copy* copy, Delete* remove, int* keyval, void* state) {
  return create_keyval<MPI_Win>(entry, real, copy, remove, keyval, state);
}

// A library calls these when it completes the request, in the middle of a call that may complete others too. In a call
// that reports some of many, what they do cannot be put behind what the call decides: there they stay inside.
struct GeneralisedRequest {
  MPI_Grequest_query_function* query;
  MPI_Grequest_free_function* free;
  MPI_Grequest_cancel_function* cancel;
  void* state;

  template <class Function>
  static int call(Function function) {
    if (t_state.opaque) {
      unsupported(mpi::Function::Grequest_start, "MPI calls of its functions within MPI_Waitany and the like, if any");
      return function();
    }
    Outside outside;
    return function();
  }
  static int call_query(void* extra, MPI_Status* status) {
    const auto* request = static_cast<GeneralisedRequest*>(extra);
    return call([&] { return request->query(request->state, status); });
  }
  static int call_free(void* extra) {  // the last call for this request
    const GeneralisedRequest request = *static_cast<GeneralisedRequest*>(extra);
    delete static_cast<GeneralisedRequest*>(extra);
    return call([&] { return request.free(request.state); });
  }
  static int call_cancel(void* extra, int complete) {
    const auto* request = static_cast<GeneralisedRequest*>(extra);
    return call([&] { return request->cancel(request->state, complete); });
  }
};

template <class Real>
int Grequest_start(Entry& entry, Real real, MPI_Grequest_query_function* query, MPI_Grequest_free_function* free,
                   MPI_Grequest_cancel_function* cancel, void* state, MPI_Request* request) {
  entry.begin(Call{});
  stop_giving_way();
  int rc;
  if (!query || !free || !cancel || entry.through_fortran()) rc = real(query, free, cancel, state, request);
  else
    rc = real(GeneralisedRequest::call_query, GeneralisedRequest::call_free, GeneralisedRequest::call_cancel,
              new GeneralisedRequest{query, free, cancel, state}, request);
  entry.posted(rc, request, Posts::Kind::Generalised);
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
