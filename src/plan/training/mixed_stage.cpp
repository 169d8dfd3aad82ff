// SPDX-License-Identifier: Apache-2.0
#include "plan/training/mixed_stage.h"

#include <algorithm>

#include "plan/training/container_index.h"
#include "plan/training/range_maximum.h"
#include "predict/training/derived_recompute.h"

namespace weir::plan {

using predict::IterationCosts;

namespace {

// Rates in units of (time of an average stage / memory limit).
constexpr double kJointRates[] = {0.1, 0.2, 0.3, 0.45, 0.6, 0.8, 1, 1.4, 2, 3, 5};
// On large problems a few have to do.
constexpr int kLargeProblem = 4000;  // operators x GPUs
constexpr double kFewRates[] = {0.2, 0.45, 0.8, 1.4, 3};
constexpr double kPlainRates[] = {0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3};
constexpr double kPlainShares[] = {0, 0.2, 0.5, 1};

std::uint64_t stage_key(int first, int end, int stages_behind) {
  return (static_cast<std::uint64_t>(first) << 40) | (static_cast<std::uint64_t>(end) << 16) |
         static_cast<std::uint64_t>(stages_behind);
}

// More stages behind than a few are told apart coarsely; fewer than there are never cost more.
int told_apart(int stages) {
  if (stages < 4) return stages;
  int step = 2;
  while (stages >= 4 * step) step *= 2;
  return stages / step * step;
}

}  // namespace

PricedPaths::PricedPaths(const MixedOps& ops, PriceRule rule) : ops_{ops}, rule_{rule} {}

MixedPaths& PricedPaths::behind(int stages) {
  stages = told_apart(stages);
  if (by_stages_.size() <= at(stages)) by_stages_.resize(at(stages) + 1);
  auto& paths = by_stages_[at(stages)];
  if (paths == nullptr) {
    const double state = ops_.costs().state_factors().all() + (rule_.counts_workspace ? 1 : 0);
    paths = std::make_unique<MixedPaths>(
        ops_,
        MemoryPrice{rule_.rate * state, rule_.rate * rule_.share * (stages + 1), rule_.recomputes});
  }
  return *paths;
}

class MixedStage final : public StageOption {
 public:
  // `paths` null: the fastest ones.
  MixedStage(MixedStages& all, PricedPaths* paths)
      : all_{all},
        ops_{all.ops_},
        priced_{paths},
        variants_(at(ops_.costs().ops().size())),
        measures_(at(ops_.costs().ops().size())) {}

  int gpus() const override { return ops_.gpus(); }
  double work_us(int first, int end) const override { return all_.fastest_.sums(first, end).value; }
  StageBase base(int first, int end, predict::StagePlace place) const override;
  double receive_us(int op, bool crosses) const override {
    return all_.receive_[crosses ? 1 : 0][at(op)];
  }
  double send_us(int op, bool crosses) const override {
    return all_.send_[crosses ? 1 : 0][at(op)];
  }
  double recompute_us(int first, int end, int stages_behind) override;
  double least_recompute_us(int first, int end, int stages_behind) override;
  PlanStage stage(int first, int end, int stages_behind) override;

 private:
  MixedPaths& paths(int stages_behind) const {
    return priced_ == nullptr ? all_.fastest_ : priced_->behind(stages_behind);
  }
  double missing_mib(int first, int end, int stages_behind) const;
  double finish_us(int first, int end, int stages_behind) const;
  double recomputed_us(const std::vector<PlanOp>& stage, int first) const;
  // The stage's operators, nothing computed again; prepares own_ for them.
  std::vector<PlanOp> lay_out(int first, int end, int stages_behind);

  MixedStages& all_;
  const MixedOps& ops_;
  PricedPaths* priced_;
  std::vector<std::uint8_t> variants_;  // by operator of the model, of the stage looked at
  std::vector<const OpMeasure*> measures_;
  boost::unordered_flat_map<std::uint64_t, double> chosen_;
  boost::unordered_flat_map<std::uint64_t, double> least_;
};

StageBase MixedStage::base(int first, int end, predict::StagePlace place) const {
  const IterationCosts& costs = ops_.costs();
  const auto& sums = paths(place.stages_behind).sums(first, end);
  StageBase base{.busy = sums.busy, .reshard = sums.reshard};
  base.links = costs.receive_us(first, ops_.measure(first, sums.first_variant).input_mib,
                                place.input_crosses) +
               ops_.send_us(end - 1, sums.first_variant, sums.last_variant, place.output_crosses);
  if (costs.options().model == predict::CostModel::full) {
    base.finish = finish_us(first, end, place.stages_behind) + costs.optimizer_us(sums.weights) +
                  costs.tied_us(sums.embedding, first, end);
  }
  return base;
}

// Gradients run by run of equal numbers of replicas, as IterationCosts::stage has it.
double MixedStage::finish_us(int first, int end, int stages_behind) const {
  std::vector<std::uint8_t> variants;
  paths(stages_behind).path(first, end, variants);
  double us = 0;
  double run = 0;
  for (int op = first; op < end; ++op) {
    const int v = variants[at(op - first)];
    run += ops_.measure(op, v).weight_mib;
    const int dp = ops_.variant(v).dp;
    if (op + 1 < end && ops_.variant(variants[at(op + 1 - first)]).dp == dp) continue;
    us += ops_.costs().gradients_us(run, dp);
    run = 0;
  }
  return us;
}

double MixedStage::missing_mib(int first, int end, int stages_behind) const {
  const auto& sums = paths(stages_behind).sums(first, end);
  const double in_flight = ops_.measure(first, sums.first_variant).input_mib + sums.kept;
  return sums.weights * ops_.costs().state_factors().all() +
         std::max(sums.reserved_forward + sums.reserved_backward, sums.weights) +
         in_flight * (stages_behind + 1) - all_.limit_mib_;
}

std::vector<PlanOp> MixedStage::lay_out(int first, int end, int stages_behind) {
  std::vector<std::uint8_t> variants;
  paths(stages_behind).path(first, end, variants);
  std::vector<PlanOp> ops;
  ops.reserve(variants.size());
  for (int op = first; op < end; ++op) {
    const std::uint8_t v = variants[at(op - first)];
    ops.push_back(ops_.variant(v));
    variants_[at(op)] = v;
    measures_[at(op)] = &ops_.measure(op, v);
  }
  all_.own_.use(OpMeasures{measures_, variants_});
  return ops;
}

double MixedStage::recomputed_us(const std::vector<PlanOp>& stage, int first) const {
  double us = 0;
  for (std::size_t i = 0; i < stage.size(); ++i) {
    if (!stage[i].recompute) continue;
    us += measures_[at(first) + i]->forward_us;
  }
  return us;
}

double MixedStage::recompute_us(int first, int end, int stages_behind) {
  const double missing = missing_mib(first, end, stages_behind);
  if (missing <= 0) return 0;
  const auto [place, is_new] = chosen_.try_emplace(stage_key(first, end, stages_behind), 0.0);
  if (!is_new) return place->second;
  std::vector<PlanOp> ops = lay_out(first, end, stages_behind);
  double& us = place->second;
  us = kImpossible;
  if (all_.rule_ == RecomputeRule::own) {
    us = all_.own_.recompute_us(first, end, stages_behind, missing);
  }
  const bool fits = predict::derive_recompute(ops_.costs(), first, ops, ops_.microbatch(),
                                              {.stages_behind = stages_behind}, all_.limit_mib_);
  if (fits) us = std::min(us, recomputed_us(ops, first));
  return us;
}

double MixedStage::least_recompute_us(int first, int end, int stages_behind) {
  const double missing = missing_mib(first, end, stages_behind);
  if (missing <= 0) return 0;
  const auto [place, is_new] = least_.try_emplace(stage_key(first, end, stages_behind), 0.0);
  if (is_new) {
    lay_out(first, end, stages_behind);
    place->second = all_.own_.bound_us(first, end, stages_behind, missing);
  }
  return place->second;
}

PlanStage MixedStage::stage(int first, int end, int stages_behind) {
  PlanStage stage{.gpus = gpus(), .ops = lay_out(first, end, stages_behind)};
  const double missing = missing_mib(first, end, stages_behind);
  if (missing <= 0) return stage;
  const double own_us = all_.rule_ == RecomputeRule::own
                            ? all_.own_.recompute_us(first, end, stages_behind, missing)
                            : kImpossible;
  const bool fits = predict::derive_recompute(ops_.costs(), first, stage.ops, ops_.microbatch(),
                                              {.stages_behind = stages_behind}, all_.limit_mib_);
  if (!fits || own_us < recomputed_us(stage.ops, first)) {
    all_.own_.choose(first, end, stages_behind, missing, stage.ops);
  }
  return stage;
}

// Time of the fastest path; what memory adds to it is bounded by prices: for any price, no path that fits pays less
// than the least (time + price x memory) minus price x limit.
class MixedBound final : public StageOption {
 public:
  explicit MixedBound(MixedStages& all) : all_{all} {
    const MixedOps& ops = all.ops_;
    std::vector<double> forward;
    std::vector<double> backward;
    for (int op = 0; op < ops.costs().ops().size(); ++op) {
      forward.push_back(kImpossible);
      backward.push_back(kImpossible);
      for (int v = 0; v < ops.variants(); ++v) {
        forward.back() = std::min(forward.back(), ops.measure(op, v).reserved_forward_mib);
        backward.back() = std::min(backward.back(), ops.measure(op, v).reserved_backward_mib);
      }
    }
    reserved_forward_ = RangeMaximum{std::move(forward)};
    reserved_backward_ = RangeMaximum{std::move(backward)};
  }

  int gpus() const override { return all_.ops_.gpus(); }
  double work_us(int first, int end) const override { return all_.fastest_.sums(first, end).value; }
  StageBase base(int first, int end, predict::StagePlace place) const override {
    // All as busy: links hide behind what is busy, and another path may have more of it and less to lay out anew.
    return {
        .busy = all_.fastest_.sums(first, end).value,
        .links = receive_us(first, place.input_crosses) + send_us(end - 1, place.output_crosses)};
  }
  double receive_us(int op, bool crosses) const override {
    return all_.receive_[crosses ? 1 : 0][at(op)];
  }
  double send_us(int op, bool crosses) const override {
    return all_.send_[crosses ? 1 : 0][at(op)];
  }
  double recompute_us(int first, int end, int stages_behind) override {
    return least_recompute_us(first, end, stages_behind);
  }
  double least_recompute_us(int first, int end, int stages_behind) override {
    const auto [place, is_new] = least_.try_emplace(stage_key(first, end, stages_behind), 0.0);
    if (!is_new) return place->second;
    const double fastest = all_.fastest_.sums(first, end).value;
    const int last =
        all_.ops_.costs().options().model == predict::CostModel::published ? end - 1 : end;
    const double room = all_.limit_mib_ - reserved_forward_.of(at(first), at(last)) -
                        reserved_backward_.of(at(first), at(last));
    double& more = place->second;
    for (const auto& priced : all_.priced_) {
      if (!priced->rule().recomputes) continue;
      const double limit = priced->rule().counts_workspace ? all_.limit_mib_ : room;
      const double least =
          priced->behind(stages_behind).sums(first, end).value - priced->rule().rate * limit;
      more = std::max(more, least - fastest);
    }
    return more;
  }
  PlanStage stage(int, int, int) override { return {}; }

 private:
  MixedStages& all_;
  RangeMaximum reserved_forward_;  // whatever the variant
  RangeMaximum reserved_backward_;
  boost::unordered_flat_map<std::uint64_t, double> least_;
};

MixedStages::MixedStages(const IterationCosts& costs, int gpus, int microbatch,
                         const std::vector<int>& allowed, double limit_mib, RecomputeRule rule)
    : ops_{costs, gpus, microbatch, allowed},
      fastest_{ops_, MemoryPrice{}},
      own_{costs, OpMeasures{ops_.variants() > 0 ? ops_.table(0) : nullptr}},
      limit_mib_{limit_mib},
      rule_{rule} {
  if (ops_.variants() == 0) return;
  find_least_links();
  const double whole = fastest_.sums(0, costs.ops().size()).value;
  const double unit = whole * gpus / costs.cluster().gpus() / limit_mib;
  const auto add = [&](PriceRule price) {
    price.rate *= unit;
    priced_.push_back(std::make_unique<PricedPaths>(ops_, price));
  };
  if (costs.ops().size() * costs.cluster().gpus() > kLargeProblem) {
    for (const double rate : kFewRates) add({.rate = rate, .recomputes = true});
    return;
  }
  for (const double rate : kJointRates) {
    add({.rate = rate, .recomputes = true});
    add({.rate = rate, .recomputes = true, .counts_workspace = true});
  }
  for (const double rate : kPlainRates) {
    for (const double share : kPlainShares) add({.rate = rate, .share = share});
  }
}

void MixedStages::find_least_links() {
  for (const bool crosses : {false, true}) {
    for (int op = 0; op < ops_.costs().ops().size(); ++op) {
      double receive = kImpossible;
      double send = kImpossible;
      for (int v = 0; v < ops_.variants(); ++v) {
        receive =
            std::min(receive, ops_.costs().receive_us(op, ops_.measure(op, v).input_mib, crosses));
        for (int u = 0; u < ops_.variants(); ++u) {
          send = std::min(send, ops_.send_us(op, u, v, crosses));
        }
      }
      receive_[crosses ? 1 : 0].push_back(receive);
      send_[crosses ? 1 : 0].push_back(send);
    }
  }
}

std::vector<std::unique_ptr<StageOption>> MixedStages::options() {
  std::vector<std::unique_ptr<StageOption>> options;
  if (ops_.variants() < 2 || ops_.variants() > kMostVariants) return options;
  options.push_back(std::make_unique<MixedStage>(*this, nullptr));
  for (const auto& priced : priced_) {
    options.push_back(std::make_unique<MixedStage>(*this, priced.get()));
  }
  return options;
}

std::unique_ptr<StageOption> MixedStages::bound() {
  if (ops_.variants() == 0) return nullptr;
  return std::make_unique<MixedBound>(*this);
}

}  // namespace weir::plan
