// SPDX-License-Identifier: Apache-2.0
//
// For tests: a profile as the folder of tables that `weir plan --profiles` reads.
#pragma once

#include <fmt/format.h>

#include <string>

#include "domain/op_profile.h"
#include "formats/temporary_file_testing.h"

namespace weir::cli {

inline void write_profile(const formats::TemporaryFolder& folder, const OpProfile& profile) {
  const std::string name = fmt::format("{},{},{}", profile.database, profile.model, profile.size);
  std::string ops =
      "db,model,size,mbs,tp,algo,op_index,op,fwd_us,bwd_us,input_mb,output_mb,weight_mb,"
      "activation_mb,reserved_fwd_mb,reserved_bwd_mb\n";
  for (const auto& [variant, rows] : profile.tables) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const OpMeasure& row = rows[i];
      ops += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", name, variant.microbatch,
                         variant.tp, variant.dim, i, profile.ops[i], row.forward_us,
                         row.backward_us, row.input_mib, row.output_mib, row.weight_mib,
                         row.activation_mib, row.reserved_forward_mib, row.reserved_backward_mib);
    }
  }
  folder.write("ops.csv", ops);
  std::string collectives = "db,model,size,collective,gpus,data_mb,time_ms\n";
  for (const auto& [kind, times] : profile.collectives) {
    for (const auto& [mib, ms] : times) {
      collectives +=
          fmt::format("{},{},{},{},{}\n", name,
                      kCollectiveNames[static_cast<std::size_t>(kind.first)], kind.second, mib, ms);
    }
  }
  folder.write("collectives.csv", collectives);
  std::string links = "db,scope,data_mb,bandwidth_gb_per_s\n";
  for (const LinkSpeed& link : profile.inside_node)
    links += fmt::format("{},intra,{},{}\n", profile.database, link.data_mib, link.gb_per_s);
  for (const LinkSpeed& link : profile.between_nodes)
    links += fmt::format("{},inter,{},{}\n", profile.database, link.data_mib, link.gb_per_s);
  folder.write("p2p.csv", links);
}

}  // namespace weir::cli
