// SPDX-License-Identifier: Apache-2.0
//
// For tests: a file layer for SQLite on which power fails and disks fill up. Writes stay in this
// process until they are synced, so a process that is killed loses what it did not sync. On order
// the power fails: of what was not synced each sector stays or goes by draw, and nothing works until
// the power is back. Or writes fail for a while, with any error.
//
//   FaultyVfs disk{"faulty"};
//   StoreOptions options{.file = file, .vfs = "faulty"};
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace weir::control {

class FaultyVfs {
 public:
  // Known to SQLite under that name for as long as it lives. Requires: outlives the connections.
  explicit FaultyVfs(std::string name);
  FaultyVfs(const FaultyVfs&) = delete;
  FaultyVfs& operator=(const FaultyVfs&) = delete;
  ~FaultyVfs();

  // The power fails in the middle of the n-th operation from now on (1: the next) that writes,
  // syncs, cuts or deletes.
  void lose_power_at(std::uint64_t operation, std::uint64_t seed);
  bool has_lost_power() const;
  // Requires: all connections are closed.
  void restore_power();

  // Syncs do nothing from now on, and say they did: a disk that nobody can build on.
  void lie_about_syncs();

  // From the n-th operation on each of them fails with that SQLite result, until heal().
  void fail_from(std::uint64_t operation, int sqlite_result);
  void heal();

  // How many operations there were.
  std::uint64_t operations() const;

  struct Disk;

 private:
  std::unique_ptr<Disk> disk_;
};

}  // namespace weir::control
