// SPDX-License-Identifier: Apache-2.0
#include "engine/local/supervisor_order.h"

#include <algorithm>

namespace weir::engine {
namespace {

constexpr std::string_view kFormat = "weir order 3";
// Of runs that outlived an upgrade.
constexpr std::string_view kSecondFormat = "weir order 2";
constexpr std::string_view kFirstFormat = "weir order 1";
constexpr std::string_view kEnd = "end";

class Writer {
 public:
  void put(std::string_view text) {
    bytes_ += text;
    bytes_ += '\0';
  }
  void put(std::integral auto number) { put(std::string_view{std::to_string(number)}); }
  void put(const std::optional<std::int64_t>& number) {
    put(number ? std::string_view{std::to_string(*number)} : std::string_view{});
  }
  void put(const std::vector<std::string>& texts) {
    put(texts.size());
    for (const std::string& text : texts) put(std::string_view{text});
  }
  void put(const std::optional<RunUser>& user) {
    put(user ? std::string_view{user->name} : std::string_view{});
    if (!user) return;
    put(user->user);
    put(user->group);
    put(user->groups.size());
    for (const gid_t group : user->groups) put(group);
    put(std::string_view{user->home});
    put(std::string_view{user->shell});
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_{bytes} {}

  std::string text() {
    const std::size_t end = left_.find('\0');
    if (end == std::string_view::npos) {
      is_good_ = false;
      return {};
    }
    const std::string_view text = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return std::string{text};
  }
  template <class Number>
  Number number() {
    const auto number = parse_number<Number>(text());
    if (!number) is_good_ = false;
    return number.value_or(0);
  }
  std::optional<std::int64_t> number_or_none() {
    const std::string word = text();
    if (word.empty()) return std::nullopt;
    const auto number = parse_number<std::int64_t>(word);
    if (!number) is_good_ = false;
    return number;
  }
  std::optional<RunUser> user() {
    RunUser user;
    user.name = text();
    if (user.name.empty()) return std::nullopt;
    user.user = number<std::uint32_t>();
    user.group = number<std::uint32_t>();
    for (std::size_t left = count(); left > 0 && is_good_; --left)
      user.groups.push_back(number<std::uint32_t>());
    user.home = text();
    user.shell = text();
    return user;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> all;
    for (std::size_t left = count(); left > 0 && is_good_; --left) all.push_back(text());
    return all;
  }
  // How many entries follow: never more than there are bytes.
  std::size_t count() {
    const auto count = number<std::uint64_t>();
    if (count > left_.size()) is_good_ = false;
    return is_good_ ? static_cast<std::size_t>(count) : 0;
  }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view left_;
  bool is_good_ = true;
};

bool has_zero(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

}  // namespace

bool has_zero_byte(const SupervisorOrder& order) {
  return std::ranges::any_of(order.command, has_zero) || has_zero(order.directory) ||
         std::ranges::any_of(order.warm_start, has_zero) || has_zero(order.progress_line) ||
         std::ranges::any_of(order.environment, [](const auto& entry) {
           return has_zero(entry.first) || has_zero(entry.second);
         });
}

std::string encode(const SupervisorOrder& order) {
  Writer out;
  out.put(kFormat);
  out.put(order.store);
  out.put(order.run.job);
  out.put(order.run.generation);
  out.put(order.command);
  out.put(order.environment.size());
  for (const auto& [name, value] : order.environment) {
    out.put(name);
    out.put(value);
  }
  out.put(order.directory);
  out.put(order.ranks);
  out.put(order.gpus.size());
  for (const auto& [node, gpu] : order.gpus) {
    out.put(node);
    out.put(gpu);
  }
  out.put(order.reports_progress ? 1 : 0);
  out.put(order.grace_ns);
  out.put(order.memory_limit_bytes);
  out.put(order.log_limit_bytes);
  out.put(order.progress_interval_ns);
  out.put(order.engine_socket);
  out.put(order.cgroup);
  out.put(order.is_torchrun ? 1 : 0);
  out.put(order.progress_line);
  out.put(order.longest_save_ns);
  out.put(order.announce_ns);
  out.put(order.hang_after_ns);
  out.put(order.warm_start);
  out.put(order.ordered_ns);
  out.put(order.user);
  out.put(kEnd);
  return out.take();
}

std::optional<SupervisorOrder> decode_supervisor_order(std::string_view bytes) {
  Reader in{bytes};
  const std::string format = in.text();
  if (format != kFormat && format != kSecondFormat && format != kFirstFormat) return std::nullopt;
  SupervisorOrder order;
  order.store = in.text();
  order.run.job = in.number<std::uint64_t>();
  order.run.generation = in.number<std::uint32_t>();
  order.command = in.texts();
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    std::string name = in.text();
    order.environment.emplace_back(std::move(name), in.text());
  }
  order.directory = in.text();
  order.ranks = in.number<std::int32_t>();
  for (std::size_t left = in.count(); left > 0 && in.is_good(); --left) {
    const auto node = in.number<std::uint64_t>();
    order.gpus.emplace_back(node, in.number<std::int32_t>());
  }
  order.reports_progress = in.number<std::int32_t>() != 0;
  order.grace_ns = in.number_or_none();
  order.memory_limit_bytes = in.number<std::int64_t>();
  order.log_limit_bytes = in.number<std::int64_t>();
  order.progress_interval_ns = in.number<std::int64_t>();
  order.engine_socket = in.text();
  order.cgroup = in.text();
  if (format != kFirstFormat) {
    order.is_torchrun = in.number<std::int32_t>() != 0;
    order.progress_line = in.text();
    order.longest_save_ns = in.number<std::int64_t>();
    order.announce_ns = in.number<std::int64_t>();
    order.hang_after_ns = in.number_or_none();
    order.warm_start = in.texts();
    order.ordered_ns = in.number<std::int64_t>();
  }
  if (format == kFormat) order.user = in.user();
  if (in.text() != kEnd || !in.is_good() || !in.is_at_end()) return std::nullopt;
  return order;
}

}  // namespace weir::engine
