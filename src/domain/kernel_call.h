// SPDX-License-Identifier: Apache-2.0
//
// One call of one operator on a GPU: what is computed, in which number format, on which shape. What
// the library launches for it is a KernelLaunch; how long it took, a KernelSample. These are the
// values that kernel tables hold and kernel models are fitted to.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

// Operators that share the names of their sizes.
enum class KernelFamily : std::uint8_t { gemm, conv, attention, rows, image };

inline constexpr std::array<std::string_view, 5> kKernelFamilyNames = {"gemm", "conv", "attention",
                                                                       "rows", "image"};

constexpr std::string_view to_string(KernelFamily family) {
  return kKernelFamilyNames[static_cast<std::size_t>(family)];
}

inline constexpr std::size_t kMostKernelSizes = 7;
using KernelSizes = std::array<std::int64_t, kMostKernelSizes>;

// gemm: [B,M,N] x [B,N,K], N is the reduction. conv and image: squares. attention: causal is 0 or 1.
// rows: B rows of H numbers.
std::span<const std::string_view> kernel_size_names(KernelFamily family);

namespace gemm_size {
enum : std::size_t { b, m, n, k };
}
namespace conv_size {
enum : std::size_t { b, cin, cout, ksize, insize, stride, pad };
}
namespace attention_size {
enum : std::size_t { b, heads, kv_heads, sq, sk, d, causal };
}
namespace rows_size {
enum : std::size_t { b, h };
}
namespace image_size {
enum : std::size_t { b, c, insize, ksize, stride, pad };
}

struct KernelCall {
  KernelFamily family = KernelFamily::rows;
  std::string op{};       // "linear", "bmm", "conv", "sdpa", "gelu", "bn"
  std::string dtype{};    // "bf16"; "tf32": float32 with tensor cores; "fp32": without
  std::string variant{};  // what else chooses a kernel: "nt", "fwd/nhwc", "bwd/cudnn"; may be empty
  KernelSizes sizes{};    // those that the family does not have are 0

  friend auto operator<=>(const KernelCall&, const KernelCall&) = default;
};

// "gemm linear nt bf16 B=1 M=8 N=16 K=24"
std::string to_string(const KernelCall& call);

// Eight digits for the name of a kernel, which may have a thousand letters: the same whatever number a table gives it.
std::string kernel_name_digest(std::string_view name);

// What the library launched: the main kernel, and how many kernels in all.
struct KernelLaunch {
  std::string kernel{};      // name of the main kernel
  std::string algorithm{};   // names the whole sequence: kernel_name_digest of each, joined by "|"
  std::int64_t blocks = 0;   // of the grid
  std::int64_t threads = 0;  // of a block
  std::int64_t kernels = 1;  // launches of the call
  std::int64_t occupancy = 0;       // blocks that fit on an SM; 0: not known
  std::int64_t helper_threads = 0;  // of all other kernels: conversions, reductions, clearing

  friend bool operator==(const KernelLaunch&, const KernelLaunch&) = default;
};

struct KernelSample {
  KernelCall call{};
  KernelLaunch launch{};
  double milliseconds = 0;
  double cpu_microseconds = 0;  // the CPU's time for one eager call; 0: not known
  bool is_held_out = false;     // never fitted to
  std::int64_t row = 0;  // among those of its device in its file: rows stand as they were measured
  bool is_row_told = false;  // the table has a column for it; otherwise it is counted
};

// Samples of one device.
struct KernelTable {
  std::string device{};
  std::vector<KernelSample> samples{};
};

}  // namespace weir
