// SPDX-License-Identifier: Apache-2.0
#include "domain/kernel_call.h"

#include <fmt/format.h>

namespace weir {
namespace {

constexpr std::array<std::string_view, 4> kGemmSizes = {"B", "M", "N", "K"};
constexpr std::array<std::string_view, 7> kConvSizes = {"B",      "Cin",    "Cout", "ksize",
                                                        "insize", "stride", "pad"};
constexpr std::array<std::string_view, 7> kAttentionSizes = {"B",  "heads", "kv_heads", "Sq",
                                                             "Sk", "D",     "causal"};
constexpr std::array<std::string_view, 2> kRowsSizes = {"B", "H"};
constexpr std::array<std::string_view, 6> kImageSizes = {"B",     "C",      "insize",
                                                         "ksize", "stride", "pad"};

}  // namespace

std::span<const std::string_view> kernel_size_names(KernelFamily family) {
  switch (family) {
    case KernelFamily::gemm:
      return kGemmSizes;
    case KernelFamily::conv:
      return kConvSizes;
    case KernelFamily::attention:
      return kAttentionSizes;
    case KernelFamily::image:
      return kImageSizes;
    case KernelFamily::rows:
      break;
  }
  return kRowsSizes;
}

std::string kernel_name_digest(std::string_view name) {
  std::uint64_t hash = 1469598103934665603ULL;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<std::uint8_t>(c)) * 1099511628211ULL;
  return fmt::format("{:08x}", (hash ^ (hash >> 32)) & 0xffffffffULL);
}

std::string to_string(const KernelCall& call) {
  std::string text = fmt::format("{} {}", to_string(call.family), call.op);
  if (!call.variant.empty()) text += " " + call.variant;
  text += " " + call.dtype;
  const auto names = kernel_size_names(call.family);
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format(" {}={}", names[i], call.sizes[i]);
  return text;
}

}  // namespace weir
