// SPDX-License-Identifier: Apache-2.0
//
// Who shares a cluster, as a file and as the API gets it.
#include "formats/cluster_shorthand.h"
#include "formats/tenants_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  static const Cluster cluster = *formats::parse_cluster_shorthand("4x8xA100");
  auto input = formats::InputFile::from_memory("fuzz.yaml", fuzz::text_of(data, size));
  if (!input) return 0;
  const auto table = formats::read_tenants_yaml(std::move(*input), cluster);
  fuzz::check_refusal(table);
  fuzz::check_refusal(formats::read_tenants_json(fuzz::text_of(data, size), "fuzz.json", cluster));
  if (!table) return 0;
  fuzz::check(is_well_formed(*table), "a table keeps the rules");
  const std::string text = formats::write_tenants_json(*table, cluster);
  const auto back = formats::read_tenants_json(text, "back.json", cluster);
  fuzz::check(back && *back == *table, "a table comes back as written");
  return 0;
}
