// SPDX-License-Identifier: Apache-2.0
//
// The record log: what the scheduler decided, one JSON object per line, in the order in which it
// was decided. What is written reads back equal, and written again gives the same bytes.
//
//   {"schema":1,"type":"log_header","payload":{"cluster":{"pools":[{"name":"A100","nodes":16,
//     "gpus_per_node":8,"stride":8}]},"rescale":{"base_s":2,"per_doubling_s":2},"policy":"weir",
//     "slot_s":0,"workload":"195job","curves":"throughput_a100","speed":{"permille":1000}}}
//   {"schema":1,"seq":1,"time":3715485000000000,"type":"promise_made",
//     "reason":{"code":"fits_beside_promises","detail":0},"payload":{"job":7,
//     "deadline":3716178000000000,"timeline":{"steps":[[3715485000000000,8,4]],
//     "end":3716100000000000}},"build":"0.1.0"}
//
// (Each on one line.) Times and durations are whole nanoseconds. A step of a timeline is [from,
// first, size], a point of a curve [GPUs, micro-iterations per second]. Work is a decimal string in
// units of 1e-15 iterations: JSON numbers end at 64 bits. Types and reasons are written by name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "domain/cluster.h"
#include "domain/event.h"
#include "domain/record.h"
#include "domain/result.h"
#include "formats/input_file.h"

namespace weir::formats {

inline constexpr int kRecordLogSchema = 1;

// What a reader needs to know beside the records: where and how they were decided.
struct RecordLogHeader {
  // By PoolIndex; pools without GPUs have none. GPU g of node n is slot n * stride + g of the pool.
  struct Pool {
    std::string name;
    std::int32_t nodes = 0;
    std::int32_t gpus_per_node = 0;       // the most
    std::int32_t stride = 1;              // the power of two at or above it
    std::vector<std::int32_t> node_gpus;  // by node, when they differ; otherwise empty
    std::vector<std::uint64_t> node_ids;  // by node, unless they count from 1 through all pools
    std::vector<std::string> node_racks;  // by node, when one has a rack; otherwise empty
    friend bool operator==(const Pool&, const Pool&) = default;
  };
  // What jobs really do, in thousandths of their curve.
  struct Speed {
    std::int64_t permille = 1000;
    std::map<std::string, std::int64_t> jobs;  // by name, where it differs
    friend bool operator==(const Speed&, const Speed&) = default;
  };

  std::vector<Pool> pools;
  Duration rescale_base{0};
  Duration rescale_per_doubling{0};
  std::string policy;
  Duration slot{0};
  std::string workload;  // how to get the jobs again: a path, a recipe
  std::string curves;    // and the curves
  Speed speed;
  std::string reserve{};  // what was promised to nobody, as its operator wrote it; empty: nothing
  friend bool operator==(const RecordLogHeader&, const RecordLogHeader&) = default;
};

// Every pool of the cluster, also those without GPUs: their index counts.
std::vector<RecordLogHeader::Pool> log_pools(const Cluster& cluster);
// The nodes with GPUs again, as far as decisions about training jobs need them.
Cluster cluster_of(const RecordLogHeader& header);

// "fits_beside_promises". Empty for a number that is no reason.
std::string_view reason_name(ReasonCode code);
// "promise_made"
std::string_view type_name(const Record& record);

class RecordLogWriter {
 public:
  // Requires: `out` outlives the writer. `build` is the version of the program that decided.
  explicit RecordLogWriter(std::ostream& out, std::string_view build = {},
                           std::uint64_t first_seq = 1);

  // Once, first.
  void write(const RecordLogHeader& header);
  void write(const Record& record);

 private:
  void write_line();

  std::ostream& out_;
  std::string build_;
  std::string line_;
  std::uint64_t next_seq_;
};

struct LogEntry {
  std::uint64_t seq = 0;
  Record record;
  std::string build;
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

class RecordLogReader {
 public:
  // Reads the header.
  static Result<RecordLogReader> open(const std::filesystem::path& path);
  static Result<RecordLogReader> open(InputFile input);

  const RecordLogHeader& header() const { return header_; }
  // The next record; nothing at the end. Events in between are passed over. After an error there is
  // nothing more.
  Result<std::optional<LogEntry>> next();
  // The next event or record, with its line. The log of a live run has both: an event, then the
  // records that followed from it.
  struct Line {
    std::variant<Event, LogEntry> what;
    std::string_view text;  // until the next call
  };
  Result<std::optional<Line>> next_line_of_any_kind();

 private:
  explicit RecordLogReader(InputFile input) : input_{std::move(input)} {}

  Result<std::optional<std::string_view>> next_line();
  Result<LogEntry> read_entry(std::string_view line);
  Diagnostic mistake(std::string field, std::string found, std::string expected) const;
  tl::unexpected<Error> in_line(const Error& error) const;

  InputFile input_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what is left in the buffer
  std::uint64_t line_number_ = 0;
  std::optional<std::uint64_t> last_seq_;
  RecordLogHeader header_;
  bool at_end_ = false;         // of the input; the buffer has the rest
  bool is_unfinished_ = false;  // the line has no newline
  bool is_over_ = false;
};

}  // namespace weir::formats
