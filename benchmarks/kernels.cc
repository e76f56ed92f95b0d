// Speed of linear() by weight format and number of tokens, with the machine's ceilings beside it.
//
//   bench_kernels [--threads N] [--formats Q4_1,Q8_0] [--isa avx2]
//
// "tile" rows: one thread, a weight of 512 x 2048 that stays in the cache; GMAC/s, MAC/cycle, and
// GB/s of packed weight bytes. "memory" rows: the whole backend, weights of 256 MB that come from
// memory. Each figure is the best of several runs: other work on the machine only slows down.

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "base/cpu_info.h"
#include "base/thread_pool.h"
#include "kernels/linear.h"
#include "kernels/select.h"
#include "quant/format.h"

namespace bactrian {
namespace {

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

/// Seconds of the fastest of several runs, at least `budget` seconds of them in all. By default in
/// time of this thread alone, which other work on the machine disturbs less than the wall clock.
template <typename Body>
double best_seconds(const Body& body, double budget = 0.15,
                    clockid_t clock = CLOCK_THREAD_CPUTIME_ID) {
  double best = 1e9;
  double total = 0.0;
  while (total < budget) {
    const double begin = now(clock);
    body();
    const double seconds = now(clock) - begin;
    best = std::min(best, seconds);
    total += seconds;
  }
  return best;
}

/// Cycles per second: a chain of additions, one a cycle.
double clock_hz() {
  constexpr int64_t kSteps = 1 << 22;
  return kSteps / best_seconds([] {
           uint64_t x = 1;
           for (int64_t i = 0; i < kSteps; i += 8) {
             for (int j = 0; j < 8; ++j) {
               x += x;
               asm volatile("" : "+r"(x));
             }
           }
         });
}

/// Bytes per second of all threads reading 512 MB.
double read_bandwidth(ThreadPool& pool) {
  const std::vector<uint64_t> data(64u << 20, 1);
  std::vector<uint64_t> sums(static_cast<size_t>(pool.size()) * 8);
  constexpr int64_t kPieces = 256;
  const size_t step = data.size() / kPieces;
  const double seconds = best_seconds(
      [&] {
        pool.for_each(kPieces, [&](int64_t piece, int worker) {
          const auto begin =
              data.begin() + static_cast<std::ptrdiff_t>(piece * static_cast<int64_t>(step));
          sums[static_cast<size_t>(worker) * 8] +=
              std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(step), uint64_t{0});
        });
      },
      1.0, CLOCK_MONOTONIC);
  return static_cast<double>(data.size() * sizeof(uint64_t)) / seconds;
}

/// Blocks of a format: small random numbers, one stretch of rows over and over.
std::vector<std::byte> make_blocks(DType dtype, int64_t n_rows, int64_t n_cols) {
  constexpr int64_t kDistinctRows = 64;
  const auto row_bytes = static_cast<size_t>(dtype_info(dtype).row_bytes(n_cols));
  std::vector<float> values(static_cast<size_t>(kDistinctRows * n_cols));
  uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
  }
  std::vector<std::byte> blocks(static_cast<size_t>(n_rows) * row_bytes);
  format(dtype).quantize(values.data(), blocks.data(), std::min(n_rows, kDistinctRows) * n_cols);
  for (int64_t r = kDistinctRows; r < n_rows; ++r) {
    std::memcpy(blocks.data() + static_cast<size_t>(r) * row_bytes,
                blocks.data() + static_cast<size_t>(r % kDistinctRows) * row_bytes, row_bytes);
  }
  return blocks;
}

void report(const char* kind, std::string_view name, int64_t n_tokens, double macs, double bytes,
            double seconds, double hz) {
  std::printf("%-6s %-7s %5lld %9.1f %10.1f %8.1f\n", kind, std::string(name).c_str(),
              static_cast<long long>(n_tokens), macs / seconds * 1e-9, macs / seconds / hz,
              bytes / seconds * 1e-9);
  std::fflush(stdout);
}

struct Bench {
  const Kernels& kernels;
  std::shared_ptr<ThreadPool> pool;
  double hz;

  void tile(const DTypeInfo& info) const {
    constexpr int64_t kRows = 512;
    constexpr int64_t kCols = 2048;
    const auto blocks = make_blocks(info.dtype, kRows, kCols);
    LinearWeight w{.dtype = info.dtype, .n_rows = kRows, .n_cols = kCols, .data = blocks.data()};
    const PackedLayout* layout = packed_layout(info.dtype);
    size_t bytes = blocks.size();
    std::unique_ptr<std::byte, decltype(&std::free)> packed(nullptr, &std::free);
    if (layout != nullptr) {
      const size_t group_bytes = layout->group_bytes(kCols);
      bytes = static_cast<size_t>(w.n_groups()) * group_bytes;
      packed.reset(static_cast<std::byte*>(std::aligned_alloc(64, bytes)));
      for (int64_t g = 0; g < w.n_groups(); ++g) {
        pack_group(*layout, blocks.data(), kRows, kCols, g,
                   packed.get() + static_cast<size_t>(g) * group_bytes);
      }
      w.layout = layout;
      w.data = packed.get();
    }
    const std::unique_ptr<float, decltype(&std::free)> scratch(
        static_cast<float*>(std::aligned_alloc(64, (linear_scratch_floats() + 15) / 16 * 64)),
        &std::free);
    for (const int64_t n_tokens : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 64, 512}) {
      const std::vector<float> x(static_cast<size_t>(n_tokens * kCols), 0.5f);
      std::vector<float> out(static_cast<size_t>(n_tokens * kRows));
      const LinearArgs args{.weight = w,
                            .x = x.data(),
                            .ldx = kCols,
                            .n_tokens = n_tokens,
                            .out = out.data(),
                            .ldo = kRows};
      const double seconds =
          best_seconds([&] { linear_groups(kernels, args, 0, w.n_groups(), scratch.get()); });
      report("tile", info.name, n_tokens, static_cast<double>(kRows * kCols * n_tokens),
             static_cast<double>(bytes), seconds, hz);
    }
  }

  void memory(const DTypeInfo& info) const {
    constexpr int64_t kCols = 2048;
    const int64_t n_rows = (int64_t{256} << 20) / info.row_bytes(kCols) / 64 * 64;
    const auto blocks = make_blocks(info.dtype, n_rows, kCols);
    const auto backend = make_cpu_backend(pool, kernels);
    const auto weight =
        backend->load({"bench", info.dtype, n_rows, kCols, blocks}, WeightRole::linear);
    const size_t bytes = weight->size_bytes() != 0 ? weight->size_bytes() : blocks.size();
    for (const int64_t n_tokens : {1, 2, 4}) {
      const auto x = backend->allocate(static_cast<size_t>(n_tokens * kCols) * sizeof(float));
      const auto out = backend->allocate(static_cast<size_t>(n_tokens * n_rows) * sizeof(float));
      const LinearTarget target[] = {
          {weight.get(), nullptr, {out.get(), 0, n_tokens, n_rows, n_rows}, false}};
      const double seconds =
          best_seconds([&] { backend->linear({x.get(), 0, n_tokens, kCols, kCols}, target); }, 0.4,
                       CLOCK_MONOTONIC);
      report("memory", info.name, n_tokens, static_cast<double>(n_rows * kCols * n_tokens),
             static_cast<double>(bytes), seconds, hz);
    }
  }
};

std::vector<const DTypeInfo*> parse_formats(const std::string& list) {
  std::vector<const DTypeInfo*> formats;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    const DTypeInfo* info = find_dtype(std::string_view(list).substr(begin, end - begin));
    if (info == nullptr) {
      std::fprintf(stderr, "--formats takes names of: %s\n", std::string(dtype_names()).c_str());
      std::exit(2);
    }
    formats.push_back(info);
    begin = end + 1;
  }
  return formats;
}

int run(int argc, char** argv) {
  int n_threads = default_thread_count();
  std::string formats(dtype_names());
  formats.erase(std::remove(formats.begin(), formats.end(), ' '), formats.end());
  std::string isa = selected_isa();
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string option = argv[i];
    if (option == "--threads") n_threads = std::atoi(argv[i + 1]);
    if (option == "--formats") formats = argv[i + 1];
    if (option == "--isa") isa = argv[i + 1];
  }
  const auto pool = std::make_shared<ThreadPool>(n_threads);
  const Bench bench{find_kernels(isa), pool, clock_hz()};
  std::printf("%s, %d threads, clock %.2f GHz, read %.1f GB/s\n", isa.c_str(), n_threads,
              bench.hz * 1e-9, read_bandwidth(*pool) * 1e-9);
  std::printf("%-6s %-7s %5s %9s %10s %8s\n", "", "format", "T", "GMAC/s", "MAC/cycle", "GB/s");
  for (const DTypeInfo* info : parse_formats(formats)) {
    bench.tile(*info);
    bench.memory(*info);
  }
  return 0;
}

}  // namespace
}  // namespace bactrian

int main(int argc, char** argv) {
  try {
    return bactrian::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_kernels: %s\n", error.what());
    return 1;
  }
}
