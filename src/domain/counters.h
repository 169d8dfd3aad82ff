// SPDX-License-Identifier: Apache-2.0
//
// Where code counts what it does. A later /metrics page reads them; here and in tests they show,
// for example, how many nodes a decision had to score again.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace weir {

class CounterSink {
 public:
  virtual ~CounterSink() = default;
  virtual void add(std::string_view name, std::uint64_t amount) = 0;
};

// Keeps the sums in memory, ordered by name.
class CounterTotals final : public CounterSink {
 public:
  void add(std::string_view name, std::uint64_t amount) override {
    totals_[std::string{name}] += amount;
  }
  std::uint64_t total(std::string_view name) const {
    const auto at = totals_.find(std::string{name});
    return at == totals_.end() ? 0 : at->second;
  }
  const std::map<std::string, std::uint64_t>& all() const { return totals_; }

 private:
  std::map<std::string, std::uint64_t> totals_;
};

}  // namespace weir
