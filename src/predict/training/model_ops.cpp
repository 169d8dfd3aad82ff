// SPDX-License-Identifier: Apache-2.0
#include "predict/training/model_ops.h"

#include <array>
#include <string_view>

namespace weir::predict {

namespace {

constexpr std::size_t kGptLayerOps = 13;
constexpr std::size_t kT5EncoderOps = 13;
constexpr std::size_t kT5DecoderOps = 21;

struct SizeRow {
  std::string_view model, size, profile;
  int layers;
};
// Layers of the models as published with the profiles.
constexpr std::array kSizes{
    SizeRow{"gpt", "350M", "350M", 24}, SizeRow{"gpt", "1_3B", "1_3B", 24},
    SizeRow{"gpt", "2_6B", "2_6B", 32}, SizeRow{"gpt", "6_7B", "6_7B", 32},
    SizeRow{"gpt", "13B", "13B", 40},   SizeRow{"t5", "770M", "770M", 24},
    SizeRow{"t5", "3B", "3B", 24},      SizeRow{"t5", "6B", "6B", 24},
    SizeRow{"t5", "11B", "11B", 24},    SizeRow{"t5", "22B", "11B", 48},
};

class Builder {
 public:
  explicit Builder(ModelOps& ops) : ops_{ops} {}
  void add(std::size_t first_row, std::size_t end_row, int times = 1) {
    const int kind = kinds_++;
    for (int i = 0; i < times; ++i) {
      ops_.units.push_back({ops_.size(), static_cast<int>(end_row - first_row), kind});
      for (std::size_t row = first_row; row < end_row; ++row) {
        ops_.unit_of.push_back(static_cast<int>(ops_.units.size()) - 1);
        ops_.rows.push_back(static_cast<int>(row));
      }
    }
  }

 private:
  ModelOps& ops_;
  int kinds_ = 0;
};

Diagnostic wrong(const OpProfile& profile, std::string field, std::string found,
                 std::string expected) {
  return {profile.database + " " + profile.model + " " + profile.size, 0, std::move(field),
          std::move(found), std::move(expected)};
}

}  // namespace

KnownSize known_size(const std::string& model, const std::string& size) {
  for (const SizeRow& row : kSizes) {
    if (row.model == model && row.size == size) return {std::string{row.profile}, row.layers};
  }
  return {size, 0};
}

std::vector<int> published_microbatches(ModelFamily family) {
  if (family == ModelFamily::resnet) return {16, 32, 48, 64};
  return {1, 2, 4, 8};
}

Result<ModelOps> model_ops(const OpProfile& profile, int layers) {
  const auto family = model_family(profile.model);
  if (!family) return bad_input(wrong(profile, "model", profile.model, "gpt, t5 or resnet"));
  ModelOps ops;
  ops.family = *family;
  Diagnostics mistakes;
  for (const std::string& name : profile.ops) {
    const auto traits = op_traits(*family, name);
    if (!traits) {
      mistakes.add(wrong(profile, "op", name, "an operator of " + profile.model));
      continue;
    }
    ops.traits.push_back(*traits);
  }
  if (!mistakes.empty()) return bad_input(std::move(mistakes));
  if (*family != ModelFamily::resnet) {
    ops.layers = layers > 0 ? layers : known_size(profile.model, profile.size).layers;
    if (ops.layers <= 0) {
      return bad_input(wrong(profile, "layers", "", "--layers N: the profile does not say"));
    }
  }
  Builder builder{ops};
  const std::size_t rows = profile.ops.size();
  const std::size_t needed = *family == ModelFamily::gpt  ? kGptLayerOps + 3
                             : *family == ModelFamily::t5 ? kT5EncoderOps + kT5DecoderOps + 5
                                                          : 1;
  if (rows < needed || (*family != ModelFamily::resnet && rows != needed)) {
    return bad_input(wrong(profile, "op", std::to_string(rows) + " operators",
                           std::to_string(needed) + " operators"));
  }
  switch (*family) {
    case ModelFamily::gpt:
      builder.add(0, 1);
      builder.add(1, 1 + kGptLayerOps, ops.layers);
      builder.add(1 + kGptLayerOps, rows);
      break;
    case ModelFamily::t5: {
      const std::size_t decoder = 1 + kT5EncoderOps + 2;
      builder.add(0, 1);
      builder.add(1, 1 + kT5EncoderOps, ops.layers);
      builder.add(1 + kT5EncoderOps, decoder);
      builder.add(decoder, decoder + kT5DecoderOps, ops.layers);
      builder.add(decoder + kT5DecoderOps, rows);
      break;
    }
    case ModelFamily::resnet: {
      std::size_t first = 0;
      for (std::size_t row = 1; row <= rows; ++row) {
        const bool is_full = row - first == static_cast<std::size_t>(kMostUnitOps);
        if (row < rows && !ops.traits[row].starts_block && !is_full) continue;
        builder.add(first, row);
        first = row;
      }
      break;
    }
  }
  return ops;
}

}  // namespace weir::predict
