// SPDX-License-Identifier: Apache-2.0
//
// SQLite with owners and with errors as values. An error names the file, what was being done and
// SQLite's own words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "domain/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weir::control {

enum class Access : std::uint8_t { read_write_create, read_write, read_only };

class SqliteStatement;

class SqliteConnection {
 public:
  // Text is not copied by binds, so one connection is used by one thread at a time.
  static Result<SqliteConnection> open(const std::filesystem::path& file, const std::string& vfs,
                                       Access access);

  // Every statement of the text; rows are dropped. `doing` is for the message.
  Result<void> execute(const char* sql, std::string_view doing);
  // Requires: the connection outlives the statement.
  Result<SqliteStatement> prepare(std::string_view sql);
  // The first column of the only row.
  Result<std::int64_t> integer(std::string_view sql);

  // What the last call on this connection complained about.
  Error error(std::string_view doing) const;
  // True when the last call found the file itself broken.
  bool is_corrupt() const;
  std::int64_t changes() const;

  sqlite3* handle() const { return handle_.get(); }
  const std::filesystem::path& file() const { return file_; }

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::unique_ptr<sqlite3, Close> handle_;
  std::filesystem::path file_;
};

// A prepared statement. Bound text must stay until the statement has run.
class SqliteStatement {
 public:
  SqliteStatement() = default;

  // Parameters count from 1.
  SqliteStatement& bind(int at, std::int64_t number);
  SqliteStatement& bind(int at, std::uint64_t number) {
    return bind(at, static_cast<std::int64_t>(number));
  }
  SqliteStatement& bind_real(int at, double number);
  SqliteStatement& bind_text(int at, std::string_view text);
  SqliteStatement& bind_blob(int at, std::string_view bytes);
  SqliteStatement& bind_null(int at);

  // Runs to the end; false on an error, which the connection knows.
  [[nodiscard]] bool run();

  enum class Step : std::uint8_t { row, done, failed };
  [[nodiscard]] Step step();
  // Must follow a step() that gave a row before the statement is used again or a transaction ends.
  void reset();

  // Columns count from 0. Views are good until the next step or reset.
  std::int64_t integer(int column) const;
  std::uint64_t number(int column) const { return static_cast<std::uint64_t>(integer(column)); }
  double real(int column) const;
  std::string_view bytes(int column) const;
  std::string text(int column) const { return std::string{bytes(column)}; }
  bool is_null(int column) const;

 private:
  friend class SqliteConnection;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

// Resets a statement at the end of a scope.
class ResetAtEnd {
 public:
  explicit ResetAtEnd(SqliteStatement& statement) : statement_{statement} {}
  ResetAtEnd(const ResetAtEnd&) = delete;
  ResetAtEnd& operator=(const ResetAtEnd&) = delete;
  ~ResetAtEnd() { statement_.reset(); }

 private:
  SqliteStatement& statement_;
};

// Undone at the end of the scope unless committed.
class SqliteTransaction {
 public:
  static Result<SqliteTransaction> begin(SqliteConnection& connection);
  // All of it is durable afterwards, or nothing of it happened.
  Result<void> commit();

  SqliteTransaction(SqliteTransaction&& other) noexcept;
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  ~SqliteTransaction();

 private:
  explicit SqliteTransaction(SqliteConnection& connection) : connection_{&connection} {}
  SqliteConnection* connection_;
};

}  // namespace weir::control
