#pragma once

#include <memory>

#include "backend/backend.h"

namespace bactrian {

class ThreadPool;
struct Kernels;

/// The CPU backend: kernels of the chosen ISA (kernels/select.h) on the given pool. Weights are
/// shared by contexts; each context makes its own backend over its own pool, so loading takes one
/// backend and computing may take another: weights made by one CPU backend work with any other.
std::unique_ptr<Backend> make_cpu_backend(std::shared_ptr<ThreadPool> pool);

/// The same on given kernels.
std::unique_ptr<Backend> make_cpu_backend(std::shared_ptr<ThreadPool> pool, const Kernels& kernels);

}  // namespace bactrian
