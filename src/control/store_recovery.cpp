// SPDX-License-Identifier: Apache-2.0
#include "control/store_recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "formats/log_codec.h"

namespace weir::control {
namespace {

using schedule::PoolState;
using schedule::State;
using Step = SqliteStatement::Step;

bool knows_active(const State& state, JobId job) {
  return state.training.knows(job) && state.training.job(job).spec != nullptr;
}

// Of records that change a training job which is not over.
template <class What>
constexpr bool kChangesAJob =
    std::is_same_v<What, PromiseMade> || std::is_same_v<What, TimelineRevised> ||
    std::is_same_v<What, PromiseRefused> || std::is_same_v<What, JobUnpromised> ||
    std::is_same_v<What, JobResized> || std::is_same_v<What, ClockSet> ||
    std::is_same_v<What, PromiseAtRisk> || std::is_same_v<What, PlannedProvisionally>;

template <class What>
constexpr bool kNamesAPoolNode =
    std::is_same_v<What, PoolNodeClosed> || std::is_same_v<What, PoolNodeOpened> ||
    std::is_same_v<What, ForeignUseKnown>;

class Fits {
 public:
  explicit Fits(const State& state) : state_{state} {}

  template <class What>
  bool operator()(const What& what) const {
    if constexpr (kChangesAJob<What>) return knows_active(state_, what.job);
    if constexpr (kNamesAPoolNode<What>) {
      const PoolState* pool = state_.training.find_pool(what.pool);
      return pool != nullptr && what.node < pool->pool->nodes.size();
    }
    return is_without_effect<What>();
  }
  bool operator()(const TrainingAccepted& what) const {
    return what.job == state_.next_job() && what.spec != nullptr &&
           state_.training.find_pool(what.pool) != nullptr;
  }
  bool operator()(const JobReleased& what) const {
    return knows_active(state_, what.job) || knows_task(what.job);
  }
  bool operator()(const JobAccepted& what) const {
    const std::size_t shapes = state_.shapes.size();
    return has_tasks() && what.job == state_.next_job() && is_well_formed(what.shape) &&
           what.replicas >= 1 &&
           (what.shape_index.value == shapes ||
            (what.shape_index.value < shapes &&
             state_.shapes[what.shape_index.value] == what.shape));
  }
  bool operator()(const JobQueued& what) const { return knows_task(what.job); }
  bool operator()(const JobRejected& what) const { return knows_task(what.job); }
  bool operator()(const JobInterrupted& what) const { return knows_task(what.job); }
  bool operator()(const JobPlaced& what) const {
    if (!knows_task(what.job)) return false;
    const schedule::JobState& job = state_.job(what.job);
    if (job.phase == schedule::JobPhase::running) return false;
    const Shape& shape = state_.shapes[job.shape.value];
    const auto placements = what.placements.all();
    return std::all_of(placements.begin(), placements.end(), [&](const Placement& placement) {
      return placement.node.value < state_.nodes.size() &&
             have_room(state_.nodes[placement.node.value], shape, placement.gpus);
    });
  }
  bool operator()(const NodeClosed& what) const { return what.node.value < state_.nodes.size(); }
  bool operator()(const NodeOpened& what) const { return what.node.value < state_.nodes.size(); }
  bool operator()(const NodesKnown& what) const {
    return has_tasks() && what.nodes != nullptr &&
           std::all_of(what.nodes->begin(), what.nodes->end(), [](const ObservedNode& node) {
             return node.gpu_count >= 0 && node.gpu_count <= kMaxGpusPerNode &&
                    (node.model_id.value < kMaxGpuModels) == (node.gpu_count > 0);
           });
  }
  bool operator()(const JobObserved& what) const {
    if (!knows_active(state_, what.job)) return false;
    const schedule::TrainingJob& job = state_.training.job(what.job);
    return job.speed_permille == what.speed_permille ||
           state_.training.pool_of(job).curves.count(job.spec->curve) > 0;
  }
  bool operator()(const TenantsAdopted& what) const {
    return what.table != nullptr && is_well_formed(*what.table) &&
           *what.table == with_default_tenant(*what.table);
  }
  bool operator()(const SupplyAdopted& what) const {
    return what.series != nullptr && !what.series->empty() &&
           what.kind.quantity != SupplyQuantity::power_cap;
  }
  bool operator()(const NetworkTermsAdopted& what) const {
    const auto is_known = [&](const PoolFabric& fabric) {
      return state_.training.find_pool(fabric.pool) != nullptr;
    };
    return what.terms != nullptr && is_well_formed(*what.terms) &&
           std::all_of(what.terms->fabrics.begin(), what.terms->fabrics.end(), is_known);
  }
  bool operator()(const LinksGiven& what) const {
    if (what.links == nullptr || !knows_active(state_, what.job)) return false;
    const schedule::TrainingJob& job = state_.training.job(what.job);
    const auto network = state_.training.network_of(state_.training.pool_of(job));
    return network && can_have(*network, job.block, *what.links);
  }
  bool operator()(const EnergyTermsAdopted& what) const {
    const auto is_known = [&](const PoolPower& power) {
      return state_.training.find_pool(power.pool) != nullptr;
    };
    return what.terms != nullptr && is_well_formed(*what.terms) &&
           (what.terms->pools.empty() || state_.training.energy.supply != nullptr) &&
           std::all_of(what.terms->pools.begin(), what.terms->pools.end(), is_known);
  }
  bool operator()(const PowerTableAdopted& what) const {
    return what.table != nullptr && state_.training.find_pool(what.pool) != nullptr;
  }
  bool operator()(const CurveAdopted& what) const {
    return what.curve != nullptr && state_.training.find_pool(what.pool) != nullptr;
  }

 private:
  // Tasks have no place in a control plane for training jobs.
  bool has_tasks() const { return !state_.training.is_enabled(); }
  bool knows_task(JobId job) const {
    return has_tasks() && state_.knows(job) &&
           state_.job(job).phase != schedule::JobPhase::training;
  }
  template <class What>
  static constexpr bool is_without_effect() {
    return std::is_same_v<What, EventIgnored> || std::is_same_v<What, ClockStepSeen> ||
           std::is_same_v<What, RescaleCostAdopted> || std::is_same_v<What, EnergyPriceSet>;
  }

  const State& state_;
};

tl::unexpected<Error> cannot_recover(const SqliteConnection& connection, std::string found,
                                     std::string expected) {
  Diagnostics details;
  details.add({connection.file().string(), 0, "log", std::move(found), std::move(expected)});
  return tl::unexpected{Error{ErrorCode::failure, std::move(details)}};
}

// Starts from the latest snapshot that is whole.
Result<void> start_from_snapshot(SqliteConnection& connection, const State& initial,
                                 Recovery& recovery) {
  auto rows = connection.prepare(
      "SELECT entry, record, bytes, checksum FROM snapshots ORDER BY entry DESC");
  if (!rows) return tl::unexpected{std::move(rows).error()};
  Step step = rows->step();
  for (; step == Step::row; step = rows->step()) {
    const std::uint64_t entry = rows->number(0);
    if (checksum_of(rows->bytes(2)) != rows->integer(3)) {
      recovery.damage.push_back(
          {0, 0, fmt::format("the snapshot at entry {} is damaged and was not used", entry)});
      continue;
    }
    auto state = read_snapshot(rows->bytes(2), initial);
    if (!state) return tl::unexpected{std::move(state).error()};
    recovery.state = std::move(*state);
    recovery.snapshot_entry = entry;
    recovery.end = {entry, rows->number(1)};
    return {};
  }
  if (step == Step::failed) return tl::unexpected{connection.error("read snapshots")};
  return {};
}

Result<void> fold_entry(const LogRow& row, const SqliteConnection& connection, Recovery& recovery) {
  const RawEntry raw = raw_entry(row);
  for (const std::string& line : raw.record_lines) {
    const auto read = formats::read_record_line(line);
    if (!read) return tl::unexpected{read.error()};
    if (!fits(recovery.state, read->record))
      return cannot_recover(connection,
                            fmt::format("with a record that does not fit in entry {}", row.entry),
                            "the cluster the store was made with");
    schedule::evolve(recovery.state, read->record);
    ++recovery.records_folded;
  }
  recovery.end = {row.entry, row.first_record + raw.record_lines.size() - 1};
  return {};
}

}  // namespace

bool fits(const State& state, const Record& record) {
  return std::visit(Fits{state}, record.what);
}

Result<Recovery> recover_state(SqliteConnection& connection, State initial, const LogEnds& ends) {
  Recovery recovery;
  if (auto started = start_from_snapshot(connection, initial, recovery); !started)
    return tl::unexpected{std::move(started).error()};
  if (recovery.snapshot_entry == 0) {
    if (ends.before.entry > 0)
      return cannot_recover(
          connection,
          fmt::format("without entries up to {} and without a snapshot", ends.before.entry),
          "a snapshot: restore a backup");
    recovery.state = std::move(initial);
  }
  auto rows = connection.prepare(
      "SELECT entry, at, first_record, body, chain FROM log WHERE entry > ? ORDER BY entry");
  if (!rows) return tl::unexpected{std::move(rows).error()};
  rows->bind(1, recovery.snapshot_entry);
  Step step = rows->step();
  for (; step == Step::row; step = rows->step()) {
    const LogRow row{rows->number(0), rows->integer(1), rows->number(2), rows->bytes(3),
                     rows->number(4)};
    if (row.entry != recovery.end.entry + 1)
      return cannot_recover(connection, fmt::format("without entry {}", recovery.end.entry + 1),
                            "every entry after the snapshot: restore a backup");
    if (auto folded = fold_entry(row, connection, recovery); !folded)
      return tl::unexpected{std::move(folded).error()};
  }
  if (step == Step::failed) return tl::unexpected{connection.error("read log")};
  return recovery;
}

}  // namespace weir::control
