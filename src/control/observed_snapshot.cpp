// SPDX-License-Identifier: Apache-2.0
#include "control/observed_snapshot.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "control/snapshot_bytes.h"

namespace weir::control {
namespace {

using schedule::JobPhase;
using schedule::JobState;
using schedule::NodeState;
using schedule::State;

constexpr std::uint64_t kMostInt32 = 0x7fffffff;
constexpr std::uint64_t kMostMask = 0xffff;

void put_shape(ByteWriter& out, const Shape& shape) {
  out.integer(shape.cpu.value);
  out.integer(shape.memory.value);
  out.number(static_cast<std::uint64_t>(shape.gpu_count));
  out.integer(shape.gpu_share.value);
  out.number(shape.models.bits());
}

Shape get_shape(ByteReader& in) {
  Shape shape;
  shape.cpu = MilliCpu{in.integer()};
  shape.memory = Mebibytes{in.integer()};
  shape.gpu_count = static_cast<std::int32_t>(in.number_up_to(kMaxGpusPerNode));
  shape.gpu_share = MilliGpu{in.integer()};
  const std::uint64_t models = in.number();
  for (std::uint8_t id = 0; id < kMaxGpuModels; ++id) {
    if (((models >> id) & 1U) != 0) shape.models.insert(GpuModelId{id});
  }
  if (!is_well_formed(shape)) in.fail();
  return shape;
}

ObservedNode get_node(ByteReader& in) {
  ObservedNode node;
  node.id = NodeId{in.number()};
  node.cpu = MilliCpu{in.integer()};
  node.memory = Mebibytes{in.integer()};
  node.gpu_count = static_cast<std::int32_t>(in.number_up_to(kMaxGpusPerNode));
  node.model_id = GpuModelId{static_cast<std::uint8_t>(in.number_up_to(kMaxGpuModels))};
  node.is_up = in.number_up_to(1) != 0;
  if ((node.gpu_count > 0) != (node.model_id != kNoGpuModel)) in.fail();
  return node;
}

}  // namespace

bool is_observed_state(const State& state) {
  if (state.training.is_enabled() || state.learns_target) return false;
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    if (state.jobs[i].replicas != 1) return false;
  }
  return true;
}

std::string write_observed(const State& state) {
  ByteWriter out;
  out.number(state.shapes.size());
  for (std::size_t i = 0; i < state.shapes.size(); ++i) put_shape(out, state.shapes[i]);
  out.number(state.nodes.size());
  for (std::size_t i = 0; i < state.nodes.size(); ++i) {
    const NodeState& empty = state.layout->empty[i];
    out.number(state.layout->ids[i].value);
    out.integer(empty.free_cpu.value);
    out.integer(empty.free_memory.value);
    out.number(empty.gpu_count);
    out.number(empty.model.value);
    out.number(state.nodes[i].is_up ? 1 : 0);
  }
  out.number(state.jobs.size());
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    const JobState& job = state.jobs[i];
    out.byte(static_cast<std::uint8_t>(job.phase));
    out.number(job.shape.value);
    if (job.phase != JobPhase::running) continue;
    const Placement placement = job.placements.all().front();
    out.number(placement.node.value);
    out.number(placement.gpus.bits);
  }
  return out.take();
}

bool read_observed(std::string_view bytes, State& state) {
  ByteReader in{bytes};
  const std::size_t shapes = in.count();
  for (std::size_t i = 0; i < shapes && !in.has_failed(); ++i)
    state.shapes.push_back(get_shape(in));
  std::vector<ObservedNode> nodes(in.count());
  for (ObservedNode& node : nodes) node = get_node(in);
  if (in.has_failed()) return false;
  state.layout = std::make_shared<const schedule::ClusterLayout>(with_nodes(*state.layout, nodes));
  if (state.layout->empty.size() != nodes.size()) return false;  // a node twice
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    state.nodes.push_back(state.layout->empty[i]);
    state.nodes.at_for_write(i).is_up = nodes[i].is_up;
  }
  const std::size_t jobs = in.count();
  for (std::size_t i = 0; i < jobs && !in.has_failed(); ++i) {
    JobState job;
    job.phase =
        static_cast<JobPhase>(in.number_up_to(static_cast<std::uint64_t>(JobPhase::rejected)));
    job.shape = ShapeIndex{static_cast<std::uint32_t>(in.number_up_to(kMostInt32))};
    if (job.shape.value >= state.shapes.size()) return false;
    const Shape& shape = state.shapes[job.shape.value];
    if (job.phase == JobPhase::running) {
      const NodeIndex node{static_cast<std::uint32_t>(in.number_up_to(kMostInt32))};
      const GpuMask gpus{static_cast<std::uint16_t>(in.number_up_to(kMostMask))};
      if (node.value >= state.nodes.size() || !have_room(state.nodes[node.value], shape, gpus))
        return false;
      occupy(state.nodes.at_for_write(node.value), shape, gpus);
      job.placements = PlacementList{Placement{node, gpus}};
    }
    state.jobs.push_back(job);
    if (job.phase == JobPhase::queued) state.queue.join(JobId{i + 1}, job.shape, 1);
  }
  return !in.has_failed() && in.is_at_end();
}

}  // namespace weir::control
