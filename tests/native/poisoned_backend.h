#pragma once

#include <memory>

#include "backend/backend.h"

namespace bactrian::test {

/// Behaves as a device would, around a real backend: its handles are not those of the inner backend
/// and hold only garbage for whoever looks into them; nothing runs before download() or
/// synchronize(); host data passed to a call is copied by it and the copy is scribbled over once
/// the inner backend has seen it. Model code that peeks into a handle, or expects an op to have
/// run, gets wrong numbers or dies. A handle of another backend throws std::bad_cast.
std::unique_ptr<Backend> make_poisoned_backend(std::unique_ptr<Backend> inner);

}  // namespace bactrian::test
