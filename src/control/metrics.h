// SPDX-License-Identifier: Apache-2.0
//
// What the server counts and measures, in Prometheus' text format. Made once at the start, then counted
// from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::control {

using Labels = std::vector<std::pair<std::string, std::string>>;

class Counter {
 public:
  void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

// Times in seconds: 100 microseconds to 10 seconds, three steps for each power of ten.
class Histogram {
 public:
  static constexpr std::size_t kBounds = 16;
  static const std::array<double, kBounds>& bounds();

  void observe(double seconds);
  std::uint64_t count() const;

 private:
  friend class Metrics;
  std::array<std::atomic<std::uint64_t>, kBounds + 1> buckets_{};
  std::atomic<std::uint64_t> nanoseconds_{0};
};

class Metrics {
 public:
  // The same name and labels give the same one again. `name` without labels or suffix:
  // "weir_commits_total". References stay good.
  Counter& counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, Labels labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, Labels labels = {});

  std::string exposition() const;

 private:
  enum class Kind : std::uint8_t { counter, gauge, histogram };
  struct Family {
    Kind kind = Kind::counter;
    std::string help;
    std::map<Labels, std::size_t> series;  // where in the deque of its kind
  };
  template <class T>
  T& find(Kind kind, std::deque<T>& all, std::string_view name, std::string_view help,
          Labels labels);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
  std::deque<Counter> counters_;
  std::deque<Gauge> gauges_;
  std::deque<Histogram> histograms_;
};

}  // namespace weir::control
