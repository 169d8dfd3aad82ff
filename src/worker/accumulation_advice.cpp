// SPDX-License-Identifier: Apache-2.0
#include "worker/accumulation_advice.h"

#include <algorithm>
#include <tuple>

#include "domain/whole_numbers.h"

namespace weir::worker {
namespace {

// Up to here no product overflows 128 bits, and the choices can be counted.
constexpr std::int64_t kMost = std::int64_t{1} << 32;

Duration saturated(WideInteger nanoseconds) {
  constexpr WideInteger kLongest = Duration::max().count();
  return Duration{static_cast<std::int64_t>(std::min(nanoseconds, kLongest))};
}

struct Shape {
  Duration sync;
  std::int64_t samples;  // of the busiest GPU
  std::int64_t passes;
  std::int64_t micro_batch() const { return divide_up(samples, passes); }
};

Duration step_time(const MeasuredGpu& gpu, const Shape& shape) {
  const WideInteger per_pass = gpu.per_pass.count();
  const WideInteger per_sample = gpu.per_sample.count();
  const WideInteger last_pass = per_pass + shape.micro_batch() * per_sample;
  const WideInteger hidden = last_pass * gpu.overlap_permille / 1000;
  const WideInteger exposed = std::max<WideInteger>(0, shape.sync.count() - hidden);
  return saturated(shape.passes * per_pass + shape.samples * per_sample + exposed +
                   gpu.update.count());
}

class QuestionCheck {
 public:
  void within(std::int64_t least, std::int64_t most, std::string field, std::int64_t found) {
    if (found >= least && found <= most) return;
    const std::string range = std::to_string(least) + " to " + std::to_string(most);
    wrong_.add({.field = std::move(field), .found = std::to_string(found), .expected = range});
  }
  void time(std::string field, Duration found) {
    if (found >= Duration::zero()) return;
    wrong_.add({.field = std::move(field),
                .found = std::to_string(found.count()) + " ns",
                .expected = "0 or more"});
  }
  const Diagnostics& wrong() const { return wrong_; }

 private:
  Diagnostics wrong_;
};

void check(const MeasuredGpu& gpu, QuestionCheck& check) {
  check.within(0, kMost, gpu.name + ".price", gpu.price.value);
  check.within(1, kMost, gpu.name + ".most_local", gpu.most_local);
  check.within(0, 1000, gpu.name + ".overlap_permille", gpu.overlap_permille);
  check.time(gpu.name + ".per_pass", gpu.per_pass);
  check.time(gpu.name + ".per_sample", gpu.per_sample);
  check.time(gpu.name + ".update", gpu.update);
  for (const SyncTime& size : gpu.sizes) {
    check.within(1, kMost, gpu.name + ".sizes.gpus", size.gpus);
    check.time(gpu.name + ".sizes.time", size.time);
  }
}

Diagnostics mistakes_in(const AccumulationQuestion& question) {
  QuestionCheck all;
  all.within(1, kMost, "global_batch", question.global_batch);
  all.within(0, kMost, "most_imbalance_permille", question.most_imbalance_permille);
  for (const MeasuredGpu& gpu : question.gpus) check(gpu, all);
  return all.wrong();
}

bool is_too_uneven(std::int64_t global_batch, std::int64_t gpus, std::int64_t most_permille) {
  const WideInteger slots = WideInteger{divide_up(global_batch, gpus)} * gpus;
  return (slots - global_batch) * 1000 > WideInteger{most_permille} * global_batch;
}

// The fewest passes that make the micro-batch smaller than with `passes`; 0 when it cannot be.
std::int64_t next_passes(std::int64_t samples, std::int64_t passes) {
  const std::int64_t micro_batch = divide_up(samples, passes);
  return micro_batch == 1 ? 0 : divide_up(samples, micro_batch - 1);
}

void add_choices(const AccumulationQuestion& question, std::size_t kind, const SyncTime& size,
                 std::vector<AccumulationChoice>& choices) {
  const MeasuredGpu& gpu = question.gpus[kind];
  const std::int64_t samples = divide_up(question.global_batch, size.gpus);
  for (std::int64_t passes = divide_up(samples, gpu.most_local); passes != 0;
       passes = next_passes(samples, passes)) {
    const Shape shape{size.time, samples, passes};
    const Duration time = step_time(gpu, shape);
    const Bill bill{WideInteger{gpu.price.value} * size.gpus * time.count()};
    choices.push_back({kind, size.gpus, shape.micro_batch(), passes, time, bill});
  }
}

}  // namespace

double to_currency(Bill bill) {
  constexpr double kMillionthsTimesNanosecondsPerHour = 1e6 * 3600e9;
  return static_cast<double>(bill.value) / kMillionthsTimesNanosecondsPerHour;
}

Result<std::vector<AccumulationChoice>> accumulation_choices(const AccumulationQuestion& question) {
  if (auto wrong = mistakes_in(question); !wrong.empty()) return bad_input(std::move(wrong));
  std::vector<AccumulationChoice> choices;
  for (std::size_t kind = 0; kind < question.gpus.size(); ++kind)
    for (const SyncTime& size : question.gpus[kind].sizes)
      if (!is_too_uneven(question.global_batch, size.gpus, question.most_imbalance_permille))
        add_choices(question, kind, size, choices);
  return choices;
}

std::vector<AccumulationChoice> worth_considering(std::vector<AccumulationChoice> choices) {
  std::ranges::stable_sort(choices, {}, [](const AccumulationChoice& choice) {
    return std::tuple{choice.step_time, choice.step_bill};
  });
  std::vector<AccumulationChoice> kept;
  for (const AccumulationChoice& choice : choices)
    if (kept.empty() || choice.step_bill < kept.back().step_bill) kept.push_back(choice);
  return kept;
}

}  // namespace weir::worker
