// SPDX-License-Identifier: Apache-2.0
//
// A config.json, and dimensions as somebody types them.
#include <cmath>

#include "formats/transformer_config.h"
#include "round_trip_check.h"

namespace {

void check_dimensions(const weir::TransformerModel& model) {
  using weir::fuzz::check;
  check(model.layers >= 1 && model.hidden >= 1 && model.heads >= 1, "dimensions are positive");
  check(model.kv_heads >= 1 && model.heads % model.kv_heads == 0, "groups of heads are whole");
  check(model.head_dim >= 1 && model.ffn >= 1 && model.vocab >= 1, "widths are positive");
  check(model.experts_per_token >= 1 && model.experts_per_token <= model.experts,
        "a token meets experts that there are");
  check(model.elements() > 0, "parameters can be counted");
  check(std::isfinite(weir::forward_flops(model, 1e6, 1e6)), "work can be counted");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const std::string_view text = fuzz::text_of(data, size);
  const auto read = formats::parse_transformer_config("config.json", text);
  fuzz::check_refusal(read);
  if (read) {
    check_dimensions(read->model);
    fuzz::check(formats::usual_sequence(read->model) >= 1, "a sample has tokens");
  }
  if (const auto typed = formats::parse_dimensions("--dims", text)) check_dimensions(*typed);
  return 0;
}
