// SPDX-License-Identifier: Apache-2.0
//
// The cluster in a word: what parses can be written as a cluster file and reads back from that.
#include <sstream>

#include "formats/cluster_shorthand.h"
#include "formats/cluster_yaml.h"
#include "round_trip_check.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace weir;
  const std::string_view text = fuzz::text_of(data, size);
  std::size_t digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > 4 || text.size() > 200) return 0;  // a million nodes are slow, not wrong
  }
  const auto cluster = formats::parse_cluster_shorthand(text);
  if (!cluster) {
    fuzz::check(!cluster.error().details.empty(), "an error has a diagnostic");
    for (const Diagnostic& diagnostic : cluster.error().details.list()) {
      fuzz::check(!diagnostic.expected.empty(), "a diagnostic says what is expected");
    }
    return 0;
  }
  fuzz::check(formats::looks_like_cluster_shorthand(text), "what parses looks like one");
  std::ostringstream out;
  formats::write_cluster_yaml(out, *cluster);
  const std::string written = out.str();
  const auto back = formats::read_cluster_yaml(*formats::InputFile::from_memory("f.yaml", written));
  fuzz::check(back.has_value() && *back == *cluster, "the cluster comes back from YAML");
  return 0;
}
