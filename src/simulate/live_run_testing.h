// SPDX-License-Identifier: Apache-2.0
//
// For tests: a live run as the control plane writes it, every event and then what followed from it. One pool knows how
// fast `kModel` is.
#pragma once

#include <chrono>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "formats/cluster_shorthand.h"
#include "formats/log_codec.h"
#include "formats/record_log.h"
#include "schedule/core/core.h"
#include "schedule/place/policies.h"
#include "schedule/policies/training_policies.h"

namespace weir::simulate::testing {

inline constexpr Time kStart{std::chrono::hours{490'000}};
inline const CurveKey kModel{"bert", 128};

class LiveRun {
 public:
  explicit LiveRun(const std::string& cluster = "1x4xCPU", PoolIndex with_curve = PoolIndex{0}) {
    header_.pools = formats::log_pools(formats::parse_cluster_shorthand(cluster).value());
    header_.policy = "weir";
    schedule::CoreConfig config;
    config.policy = schedule::placement_policies().front().policy;
    config.training_policy = schedule::find_training_policy("weir");
    core_.emplace(config, schedule::initial_state_for_training(formats::cluster_of(header_)));
    tell(Duration{0}, RescaleCostMeasured{std::chrono::seconds{1}, Duration{0}});
    const Curve curve{{{1, IterationRate{10'000'000}}, {2, IterationRate{20'000'000}}},
                      CurveOrigin::measured};
    tell(Duration{0}, CurveUpdated{with_curve, kModel, curve});
  }

  template <class What>
  std::vector<Record> tell(Duration after, What what) {
    const Event event{kStart + after, what};
    auto records = core_->handle(event);
    formats::append_event_line(lines_, event);
    lines_ += '\n';
    for (const Record& record : records) {
      formats::append_record_line(lines_, record, ++seq_, "0.1.0");
      lines_ += '\n';
    }
    return records;
  }

  void submit(Duration after, std::string name, std::int64_t iterations) {
    TrainingSpec spec;
    spec.name = std::move(name);
    spec.curve = kModel;
    spec.iterations = iterations;
    spec.is_rigid = true;
    tell(after, TrainingSubmitted{spec});
    tell(after, TimerFired{});
  }

  std::string text() const {
    std::ostringstream out;
    formats::RecordLogWriter{out, "0.1.0"}.write(header_);
    return out.str() + lines_;
  }

 private:
  formats::RecordLogHeader header_;
  std::optional<schedule::Core> core_;
  std::string lines_;
  std::uint64_t seq_ = 0;
};

}  // namespace weir::simulate::testing
