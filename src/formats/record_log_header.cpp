// SPDX-License-Identifier: Apache-2.0
#include "formats/record_log_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <tuple>
#include <utility>

#include "formats/log_reader.h"
#include "formats/log_writer.h"

namespace weir::formats {
namespace log {
namespace {

constexpr std::string_view kHeaderType = "log_header";

struct HeaderLine {
  SchemaNumber schema;
  std::string type;
  RawJson payload;
  RawJson build;
  RawJson of_records;  // what a header does not have; the type says better what is wrong
};
struct ClusterPart {
  std::vector<RecordLogHeader::Pool> pools;
};
struct RescalePart {
  Seconds base;
  Seconds per_doubling;
};
struct HeaderPayload {
  ClusterPart cluster;
  RescalePart rescale;
  std::string policy;
  Seconds slot;
  std::string workload;
  std::string curves;
  RecordLogHeader::Speed speed;
  std::string reserve;
};

}  // namespace

template <>
inline constexpr auto kFields<HeaderLine> = std::tuple{
    Field{"schema", &HeaderLine::schema},          Field{"type", &HeaderLine::type},
    Field{"payload", &HeaderLine::payload},        Field{"build", &HeaderLine::build, true},
    Field{"seq", &HeaderLine::of_records, true},   Field{"time", &HeaderLine::of_records, true},
    Field{"reason", &HeaderLine::of_records, true}};
template <>
inline constexpr auto kFields<RecordLogHeader::Pool> =
    std::tuple{Field{"name", &RecordLogHeader::Pool::name},
               Field{"nodes", &RecordLogHeader::Pool::nodes},
               Field{"gpus_per_node", &RecordLogHeader::Pool::gpus_per_node},
               Field{"stride", &RecordLogHeader::Pool::stride},
               Field{"node_gpus", &RecordLogHeader::Pool::node_gpus, true},
               Field{"node_ids", &RecordLogHeader::Pool::node_ids, true},
               Field{"node_racks", &RecordLogHeader::Pool::node_racks, true}};
template <>
inline constexpr auto kFields<RecordLogHeader::Speed> =
    std::tuple{Field{"permille", &RecordLogHeader::Speed::permille},
               Field{"jobs", &RecordLogHeader::Speed::jobs, true}};
template <>
inline constexpr auto kFields<ClusterPart> = std::tuple{Field{"pools", &ClusterPart::pools}};
template <>
inline constexpr auto kFields<RescalePart> = std::tuple{
    Field{"base_s", &RescalePart::base}, Field{"per_doubling_s", &RescalePart::per_doubling}};
template <>
inline constexpr auto kFields<HeaderPayload> = std::tuple{
    Field{"cluster", &HeaderPayload::cluster},   Field{"rescale", &HeaderPayload::rescale},
    Field{"policy", &HeaderPayload::policy},     Field{"slot_s", &HeaderPayload::slot},
    Field{"workload", &HeaderPayload::workload}, Field{"curves", &HeaderPayload::curves},
    Field{"speed", &HeaderPayload::speed},       Field{"reserve", &HeaderPayload::reserve, true}};

}  // namespace log

std::vector<RecordLogHeader::Pool> log_pools(const Cluster& cluster) {
  std::vector<RecordLogHeader::Pool> pools(cluster.pools.size());
  for (std::size_t i = 0; i < pools.size(); ++i) pools[i].name = cluster.pools[i].name;
  for (const Node& node : cluster.nodes) {
    if (node.gpu_count == 0) continue;
    RecordLogHeader::Pool& pool = pools[node.pool.value];
    ++pool.nodes;
    pool.node_gpus.push_back(node.gpu_count);
    pool.node_ids.push_back(node.id.value);
    pool.node_racks.push_back(node.rack);
    pool.gpus_per_node = std::max(pool.gpus_per_node, node.gpu_count);
  }
  for (RecordLogHeader::Pool& pool : pools) {
    const auto most = static_cast<std::uint32_t>(std::max(1, pool.gpus_per_node));
    pool.stride = static_cast<std::int32_t>(std::bit_ceil(most));
    const auto is_full = [&](std::int32_t gpus) { return gpus == pool.gpus_per_node; };
    if (std::all_of(pool.node_gpus.begin(), pool.node_gpus.end(), is_full)) pool.node_gpus.clear();
    const auto has_none = [](const std::string& rack) { return rack.empty(); };
    if (std::all_of(pool.node_racks.begin(), pool.node_racks.end(), has_none))
      pool.node_racks.clear();
  }
  std::uint64_t next = 1;
  bool counts_through = true;
  for (const RecordLogHeader::Pool& pool : pools) {
    for (const std::uint64_t id : pool.node_ids) counts_through = counts_through && id == next++;
  }
  for (RecordLogHeader::Pool& pool : pools) {
    if (counts_through) pool.node_ids.clear();
  }
  return pools;
}

Cluster cluster_of(const RecordLogHeader& header) {
  Cluster cluster;
  std::uint64_t next = 1;
  for (const RecordLogHeader::Pool& pool : header.pools) {
    const PoolIndex index = cluster.pool_named(pool.name);
    const auto model = cluster.models.intern(pool.name);
    for (std::size_t i = 0; i < static_cast<std::size_t>(pool.nodes); ++i, ++next) {
      Node node;
      node.id = NodeId{i < pool.node_ids.size() ? pool.node_ids[i] : next};
      node.name = fmt::format("{}-{}", pool.name, i + 1);
      node.pool = index;
      node.gpu_count = i < pool.node_gpus.size() ? pool.node_gpus[i] : pool.gpus_per_node;
      node.model = model.value_or(kNoGpuModel);
      if (i < pool.node_racks.size()) node.rack = pool.node_racks[i];
      cluster.nodes.push_back(std::move(node));
    }
  }
  return cluster;
}

void append_header_line(std::string& out, const RecordLogHeader& header, std::string_view build) {
  log::Writer writer{out};
  writer.raw("{\"schema\":");
  writer.put(kRecordLogSchema);
  writer.raw(",\"type\":");
  writer.put(log::kHeaderType);
  writer.raw(",\"payload\":");
  writer.put(log::HeaderPayload{{header.pools},
                                {{header.rescale_base}, {header.rescale_per_doubling}},
                                header.policy,
                                {header.slot},
                                header.workload,
                                header.curves,
                                header.speed,
                                header.reserve});
  writer.raw(",\"build\":");
  writer.put(build);
  writer.raw("}");
}

Result<RecordLogHeader> read_header_line(std::string_view line) {
  log::Reader outside{line};
  log::HeaderLine parts;
  if (!outside.take_all(parts)) return bad_input(outside.mistake());
  if (parts.type != log::kHeaderType) {
    return bad_input(Diagnostic{"", 0, "type", shortened(parts.type),
                                fmt::format("{} on the first line", log::kHeaderType)});
  }
  log::Reader reader{parts.payload.text};
  log::HeaderPayload payload;
  if (!reader.take_all(payload)) {
    reader.below("payload");
    return bad_input(reader.mistake());
  }
  return RecordLogHeader{std::move(payload.cluster.pools),
                         payload.rescale.base.value,
                         payload.rescale.per_doubling.value,
                         std::move(payload.policy),
                         payload.slot.value,
                         std::move(payload.workload),
                         std::move(payload.curves),
                         std::move(payload.speed),
                         std::move(payload.reserve)};
}

}  // namespace weir::formats
