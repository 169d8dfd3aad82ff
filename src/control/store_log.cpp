// SPDX-License-Identifier: Apache-2.0
#include "control/store_log.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <variant>

namespace weir::control {
namespace {

uLong checksum_on(uLong checksum, std::string_view bytes) {
  return crc32_z(checksum, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
}

template <class... Numbers>
uLong checksum_of_numbers(Numbers... numbers) {
  std::array<char, sizeof...(numbers) * 8> bytes{};
  std::size_t at = 0;
  const auto put = [&](std::uint64_t number) {
    for (int i = 0; i < 8; ++i) {
      bytes[at++] = static_cast<char>(number & 0xffU);
      number >>= 8U;
    }
  };
  (put(static_cast<std::uint64_t>(numbers)), ...);
  return checksum_on(0, {bytes.data(), bytes.size()});
}

template <class What>
concept AboutAJob = requires(const What& what) {
  { what.job } -> std::convertible_to<JobId>;
};

}  // namespace

std::uint32_t checksum_of(std::string_view bytes) {
  return static_cast<std::uint32_t>(checksum_on(0, bytes));
}

std::uint32_t content_checksum(const LogRow& row) {
  return static_cast<std::uint32_t>(
      checksum_on(checksum_of_numbers(row.entry, row.at, row.first_record), row.body));
}

std::uint32_t next_link(std::uint32_t link_before, std::uint32_t content) {
  return static_cast<std::uint32_t>(checksum_of_numbers(link_before, content));
}

std::size_t record_count(std::string_view body) {
  return static_cast<std::size_t>(std::count(body.begin(), body.end(), '\n'));
}

RawEntry raw_entry(const LogRow& row) {
  RawEntry raw;
  raw.entry = row.entry;
  std::string_view rest = row.body;
  std::size_t end = rest.find('\n');
  raw.event_line = rest.substr(0, end);
  raw.record_lines.reserve(record_count(row.body));
  while (end != std::string_view::npos) {
    rest.remove_prefix(end + 1);
    end = rest.find('\n');
    raw.record_lines.emplace_back(rest.substr(0, end));
  }
  return raw;
}

std::vector<JobId> jobs_of(const std::vector<Record>& records) {
  std::vector<JobId> jobs;
  for (const Record& record : records) {
    std::visit(
        [&]<class What>(const What& what) {
          if constexpr (AboutAJob<What>) jobs.push_back(what.job);
        },
        record.what);
  }
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

std::optional<JobId> job_ended_by(const Record& record) {
  if (const auto* released = std::get_if<JobReleased>(&record.what)) return released->job;
  if (const auto* refused = std::get_if<PromiseRefused>(&record.what)) return refused->job;
  if (const auto* rejected = std::get_if<JobRejected>(&record.what)) return rejected->job;
  return std::nullopt;
}

}  // namespace weir::control
