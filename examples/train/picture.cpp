// SPDX-License-Identifier: Apache-2.0
//
// Learns a picture on any number of ranks, and keeps its result when weir changes their number: the
// same samples in the same steps, nothing lost at a stop, and parameters that differ by rounding only.
// `weir-example-picture --help` shows its options.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "picture_samples.h"
#include "rank_group.h"
#include "small_network.h"
#include "worker/atomic_file.h"
#include "worker/batch_plan.h"
#include "worker/checkpoints.h"
#include "worker/elastic_sampler.h"
#include "worker/progress_report.h"
#include "worker/stop_request.h"

namespace weir::example {
namespace {

using namespace std::chrono_literals;
using worker::BatchPlan;
using worker::ElasticSampler;
using worker::GlobalBatch;

struct Options {
  std::int64_t steps = 2000;
  std::int64_t batch = 256;
  std::int64_t most_local = 128;
  std::size_t width = 96;
  double rate = 0.2;
  std::uint64_t seed = 1;
  std::string checkpoint;  // empty: where weir says
  double save_every = 10;
  std::int64_t print_every = 10;
  std::string picture;
  double pause = 0;
  std::string trace;
};

constexpr double kMomentum = 0.9;
// Agreeing costs a message to every rank, so not at each step. It leaves a few steps later for that.
constexpr int kAgreeEvery = 5;

void describe(CLI::App& app, Options& options) {
  const auto count = CLI::Range(1, 1'000'000'000);
  const auto positive = CLI::Range(1e-9, 1e9);
  app.add_option("--steps", options.steps, "How many.")->check(count)->capture_default_str();
  app.add_option("--batch", options.batch, "Of all ranks together.")
      ->check(count)
      ->capture_default_str();
  app.add_option("--most-local", options.most_local, "Samples that a rank can hold at once.")
      ->check(count)
      ->capture_default_str();
  app.add_option("--width", options.width, "Of the network.")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--rate", options.rate, "Of learning.")->check(positive)->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  app.add_option("--checkpoint", options.checkpoint, "A folder; default: $WEIR_CHECKPOINT_DIR.");
  app.add_option("--save-every", options.save_every, "Seconds.")
      ->check(positive)
      ->capture_default_str();
  app.add_option("--print-every", options.print_every, "Steps.")
      ->check(count)
      ->capture_default_str();
  app.add_option("--picture", options.picture, "A PGM file: what it has learnt, when it saves.");
  app.add_option("--pause", options.pause, "Seconds to rest after each step.")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--trace", options.trace, "A file to note every sample in, with step and rank.");
}

template <class T>
T or_throw(Result<T> result) {
  if (!result) throw std::runtime_error{to_string(result.error().details)};
  return *std::move(result);
}

std::string variable(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::move(otherwise) : value;
}

// New for each start: weir chooses a free port for it.
std::filesystem::path meeting_folder() {
  return std::filesystem::path{variable("WEIR_CHECKPOINT_DIR", "checkpoints")} /
         fmt::format("rendezvous-{}-{}", variable("WEIR_GENERATION", "0"),
                     variable("MASTER_PORT", "0"));
}

class Training {
 public:
  Training(const Options& options, worker::Place place)
      : options_{options},
        plan_{or_throw(BatchPlan::make(options.batch, place, options.most_local))},
        checkpoints_{options.checkpoint.empty() ? worker::Checkpoints::from_environment()
                                                : worker::Checkpoints{options.checkpoint}},
        stop_{{.save_every = std::chrono::duration_cast<worker::StopRequest::Clock::duration>(
                   std::chrono::duration<double>{options.save_every}),
               .agree = [this](int number) { return ranks_->largest(number); },
               .agree_every = kAgreeEvery}} {}

  int run() {
    reporter_.tell(worker::Milestone::started);
    ranks_.emplace(plan_.place(), meeting_folder());
    load();
    reporter_.tell(worker::Milestone::loaded);
    if (is_first()) fmt::print("from step {} on {} ranks\n", step_, plan_.place().world_size);
    std::fflush(stdout);
    while (step_ < options_.steps) {
      take_step();
      if (step_ < options_.steps && stop_.should_checkpoint()) {
        save();
        if (stop_.should_leave()) return worker::kStoppedToBeResumed;
      }
    }
    save();
    return 0;
  }

 private:
  bool is_first() const { return plan_.place().rank == 0; }

  void take_step() {
    std::optional<GlobalBatch> batch = sampler_.next(plan_);
    if (!batch) {
      sampler_.set_epoch(sampler_.state().epoch + 1);
      batch = sampler_.next(plan_);
    }
    const double loss = learn(*batch);
    ++step_;
    if (!sampler_.advance(*batch)) throw std::logic_error{"a batch out of turn"};
    if (!options_.trace.empty()) note(*batch);
    std::this_thread::sleep_for(std::chrono::duration<double>{options_.pause});
    reporter_.report({.step = step_, .loss = loss, .batch = plan_});
    if (is_first() && step_ % options_.print_every == 0) {
      fmt::print("step {} loss {:.6f}\n", step_, loss);
      std::fflush(stdout);
    }
  }

  // The mean loss of the global batch. What a rank cannot hold at once is added up in pieces; here
  // that only means in which order, because one sample after the other is computed anyway.
  double learn(const GlobalBatch& batch) {
    // The loss comes last, so that it is added up with the gradient.
    std::vector<double> sums(network_.size() + 1);
    const auto gradient = std::span{sums}.first(network_.size());
    const double weight = batch.plan.weight_of(1);
    for (const std::int64_t index : batch.indices) {
      const Sample taken = sample(index);
      sums.back() += network_.add_gradient(taken.features, taken.brightness, weight, gradient);
    }
    ranks_->add_up(sums);
    network_.descend(gradient, options_.rate, kMomentum);
    return sums.back();
  }

  void note(const GlobalBatch& batch) const {
    std::string lines;
    std::int64_t position = batch.first + batch.plan.first();
    for (const std::int64_t index : batch.indices)
      lines += fmt::format("{} {} {} {} {}\n", step_, sampler_.state().epoch, position++, index,
                           plan_.place().rank);
    std::ofstream{options_.trace, std::ios::app} << lines;
  }

  // One line for the sampler, then parameters and velocity as they are in memory.
  void save() {
    if (is_first()) {
      const auto began = std::chrono::steady_clock::now();
      or_throw(checkpoints_.save(step_, [&](std::ostream& out) {
        out << encode(sampler_.state()) << '\n';
        for (const auto numbers : {network_.parameters(), network_.velocity()})
          out.write(reinterpret_cast<const char*>(numbers.data()),
                    static_cast<std::streamsize>(numbers.size_bytes()));
      }));
      reporter_.tell(worker::Milestone::saved, std::chrono::steady_clock::now() - began);
      if (!options_.picture.empty()) save_picture();
    }
    ranks_->wait_for_all();  // nobody leaves before it is written
  }

  void save_picture() {
    or_throw(worker::save_atomically(options_.picture, [&](std::ostream& out) {
      write_picture(out, [&](const Features& place) { return network_.output(place); });
    }));
  }

  void load() {
    const auto latest = checkpoints_.latest();
    if (!latest) return;
    std::ifstream in{latest->path, std::ios::binary};
    std::string line;
    std::getline(in, line);
    or_throw(sampler_.restore(or_throw(worker::decode_sampler_state(line))));
    for (const auto numbers : {network_.parameters(), network_.velocity()})
      in.read(reinterpret_cast<char*>(numbers.data()),
              static_cast<std::streamsize>(numbers.size_bytes()));
    if (!in || in.peek() != std::ifstream::traits_type::eof())
      throw std::runtime_error{fmt::format(
          "{}: it is of another network, expected the same --width as when it was saved",
          latest->path.string())};
    step_ = latest->step;
  }

  Options options_;
  BatchPlan plan_;
  ElasticSampler sampler_{kSamples, options_.seed};
  SmallNetwork network_{kFeatures, options_.width, options_.seed};
  worker::Checkpoints checkpoints_;
  worker::ProgressReporter reporter_ = worker::ProgressReporter::from_environment();
  std::optional<RankGroup> ranks_;
  worker::StopRequest stop_;
  std::int64_t step_ = 0;
};

}  // namespace
}  // namespace weir::example

int main(int argc, char** argv) {
  using namespace weir::example;
  Options options;
  CLI::App app{"Learns a picture, alone or as one of several ranks.", "weir-example-picture"};
  describe(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const auto place = weir::worker::place_from_environment();
  if (!place) {
    fmt::print(stderr, "weir-example-picture: {}\n", to_string(place.error().details));
    return 2;
  }
  try {
    return Training{options, *place}.run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "weir-example-picture: {}\n", error.what());
    return 1;
  }
}
