// SPDX-License-Identifier: Apache-2.0
#include "control/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace weir::control {
namespace {

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
}

// {a="1",le="0.1"}; nothing without labels.
std::string label_text(const Labels& labels, std::string_view bound = {}) {
  if (labels.empty() && bound.empty()) return {};
  std::string out = "{";
  for (const auto& [name, value] : labels) {
    if (out.size() > 1) out += ',';
    out += name + "=\"";
    append_escaped(out, value);
    out += '"';
  }
  if (!bound.empty()) {
    if (out.size() > 1) out += ',';
    out += fmt::format("le=\"{}\"", bound);
  }
  return out + "}";
}

}  // namespace

const std::array<double, Histogram::kBounds>& Histogram::bounds() {
  static const std::array<double, kBounds> bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                  0.01,   0.025,   0.05,   0.1,   0.25,   0.5,
                                                  1,      2.5,     5,      10};
  return bounds;
}

void Histogram::observe(double seconds) {
  const auto& limits = bounds();
  const auto at = std::lower_bound(limits.begin(), limits.end(), seconds) - limits.begin();
  buckets_[static_cast<std::size_t>(at)].fetch_add(1, std::memory_order_relaxed);
  nanoseconds_.fetch_add(static_cast<std::uint64_t>(std::max(0.0, seconds) * 1e9),
                         std::memory_order_relaxed);
}

std::uint64_t Histogram::count() const {
  std::uint64_t sum = 0;
  for (const auto& bucket : buckets_) sum += bucket.load(std::memory_order_relaxed);
  return sum;
}

template <class T>
T& Metrics::find(Kind kind, std::deque<T>& all, std::string_view name, std::string_view help,
                 Labels labels) {
  const std::lock_guard lock{mutex_};
  Family& family = families_[std::string{name}];
  family.kind = kind;
  if (family.help.empty()) family.help = help;
  const auto [at, is_new] = family.series.try_emplace(std::move(labels), all.size());
  if (is_new) all.emplace_back();
  return all[at->second];
}

Counter& Metrics::counter(std::string_view name, std::string_view help, Labels labels) {
  return find(Kind::counter, counters_, name, help, std::move(labels));
}

Gauge& Metrics::gauge(std::string_view name, std::string_view help, Labels labels) {
  return find(Kind::gauge, gauges_, name, help, std::move(labels));
}

Histogram& Metrics::histogram(std::string_view name, std::string_view help, Labels labels) {
  return find(Kind::histogram, histograms_, name, help, std::move(labels));
}

std::string Metrics::exposition() const {
  const std::lock_guard lock{mutex_};
  std::string out;
  const auto put = std::back_inserter(out);
  for (const auto& [name, family] : families_) {
    constexpr std::string_view kKinds[] = {"counter", "gauge", "histogram"};
    fmt::format_to(put, "# HELP {} {}\n# TYPE {} {}\n", name, family.help, name,
                   kKinds[static_cast<std::size_t>(family.kind)]);
    for (const auto& [labels, at] : family.series) {
      if (family.kind == Kind::counter) {
        fmt::format_to(put, "{}{} {}\n", name, label_text(labels), counters_[at].value());
      } else if (family.kind == Kind::gauge) {
        fmt::format_to(put, "{}{} {}\n", name, label_text(labels), gauges_[at].value());
      } else {
        const Histogram& histogram = histograms_[at];
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < histogram.buckets_.size(); ++i) {
          sum += histogram.buckets_[i].load(std::memory_order_relaxed);
          const std::string bound =
              i < Histogram::kBounds ? fmt::format("{}", Histogram::bounds()[i]) : "+Inf";
          fmt::format_to(put, "{}_bucket{} {}\n", name, label_text(labels, bound), sum);
        }
        fmt::format_to(
            put, "{}_sum{} {}\n{}_count{} {}\n", name, label_text(labels),
            static_cast<double>(histogram.nanoseconds_.load(std::memory_order_relaxed)) / 1e9, name,
            label_text(labels), sum);
      }
    }
  }
  return out;
}

}  // namespace weir::control
