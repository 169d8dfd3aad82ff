// SPDX-License-Identifier: Apache-2.0
#include "cli/embedded_kernel_models.h"

#include <string>

#include "formats/kernel_model_json.h"

// The assembler takes the bytes as they are: compilers need seconds for an array of that size.
asm(R"(
  .pushsection .rodata
  .hidden weir_h200_model
  .global weir_h200_model
weir_h200_model:
  .incbin ")" WEIR_H200_MODEL R"("
  .hidden weir_h200_model_end
  .global weir_h200_model_end
weir_h200_model_end:
  .popsection
)");
extern "C" const char weir_h200_model[];      // NOLINT(readability-identifier-naming)
extern "C" const char weir_h200_model_end[];  // NOLINT(readability-identifier-naming)

namespace weir::cli {

std::vector<std::string_view> embedded_kernel_models() {
  return {"h200"};
}

Result<KernelModel> embedded_kernel_model(std::string_view name) {
  const std::string_view bytes{weir_h200_model,
                               static_cast<std::size_t>(weir_h200_model_end - weir_h200_model)};
  auto input = formats::InputFile::from_memory("the model of " + std::string{name}, bytes,
                                               formats::kMaxKernelModelBytes);
  if (!input) return tl::unexpected(input.error());
  return formats::read_kernel_model(std::move(*input));
}

}  // namespace weir::cli
