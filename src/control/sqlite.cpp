// SPDX-License-Identifier: Apache-2.0
#include "control/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace weir::control {
namespace {

constexpr int kPrimaryCode = 0xff;  // the part of an extended result code that says its kind

int flags_for(Access access) {
  switch (access) {
    case Access::read_write_create:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case Access::read_write:
      return SQLITE_OPEN_READWRITE;
    case Access::read_only:
      return SQLITE_OPEN_READONLY;
  }
  return SQLITE_OPEN_READONLY;
}

// What the reader of the message can do.
struct Remedy {
  ErrorCode code;
  const char* expected;
};

Remedy remedy_for(int result) {
  switch (result & kPrimaryCode) {
    case SQLITE_FULL:
      return {ErrorCode::unavailable, "room on the disk"};
    case SQLITE_READONLY:
      return {ErrorCode::unavailable, "a file that may be written"};
    case SQLITE_IOERR:
      return {ErrorCode::unavailable, "a disk that reads and writes"};
    case SQLITE_CANTOPEN:
      return {ErrorCode::unavailable, "a folder in which the file can be opened"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::unavailable, "no other program to hold the file"};
    case SQLITE_NOMEM:
      return {ErrorCode::unavailable, "enough memory"};
    case SQLITE_NOTADB:
      return {ErrorCode::failure, "a store made by weir; restore a backup"};
    case SQLITE_CORRUPT:
      return {ErrorCode::failure, "an undamaged file; restore a backup"};
    default:
      return {ErrorCode::failure, "no error"};
  }
}

}  // namespace

void SqliteConnection::Close::operator()(sqlite3* handle) const {
  sqlite3_close_v2(handle);
}

Result<SqliteConnection> SqliteConnection::open(const std::filesystem::path& file,
                                                const std::string& vfs, Access access) {
  SqliteConnection made;
  made.file_ = file;
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(file.c_str(), &handle, flags_for(access) | SQLITE_OPEN_NOMUTEX,
                                     vfs.empty() ? nullptr : vfs.c_str());
  made.handle_.reset(handle);
  if (result != SQLITE_OK) return tl::unexpected{made.error("open")};
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, 5000);
  return made;
}

Error SqliteConnection::error(std::string_view doing) const {
  const int result = handle_ ? sqlite3_extended_errcode(handle_.get()) : SQLITE_NOMEM;
  const char* words = handle_ ? sqlite3_errmsg(handle_.get()) : "out of memory";
  const Remedy remedy = remedy_for(result);
  Diagnostics details;
  details.add({file_.string(), 0, std::string{doing}, fmt::format("{} (SQLite {})", words, result),
               remedy.expected});
  return Error{remedy.code, std::move(details)};
}

bool SqliteConnection::is_corrupt() const {
  const int kind = sqlite3_errcode(handle_.get()) & kPrimaryCode;
  return kind == SQLITE_CORRUPT || kind == SQLITE_NOTADB;
}

std::int64_t SqliteConnection::changes() const {
  return sqlite3_changes64(handle_.get());
}

Result<void> SqliteConnection::execute(const char* sql, std::string_view doing) {
  if (sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return tl::unexpected{error(doing)};
  return {};
}

Result<SqliteStatement> SqliteConnection::prepare(std::string_view sql) {
  SqliteStatement made;
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  made.statement_.reset(statement);
  if (result != SQLITE_OK) return tl::unexpected{error("schema")};
  return made;
}

Result<std::int64_t> SqliteConnection::integer(std::string_view sql) {
  auto statement = prepare(sql);
  if (!statement) return tl::unexpected{std::move(statement).error()};
  if (statement->step() != SqliteStatement::Step::row) return tl::unexpected{error("read")};
  return statement->integer(0);
}

void SqliteStatement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

SqliteStatement& SqliteStatement::bind(int at, std::int64_t number) {
  sqlite3_bind_int64(statement_.get(), at, number);
  return *this;
}

SqliteStatement& SqliteStatement::bind_real(int at, double number) {
  sqlite3_bind_double(statement_.get(), at, number);
  return *this;
}

SqliteStatement& SqliteStatement::bind_text(int at, std::string_view text) {
  sqlite3_bind_text64(statement_.get(), at, text.data() == nullptr ? "" : text.data(), text.size(),
                      SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::bind_blob(int at, std::string_view bytes) {
  sqlite3_bind_blob64(statement_.get(), at, bytes.data() == nullptr ? "" : bytes.data(),
                      bytes.size(), SQLITE_STATIC);
  return *this;
}

SqliteStatement& SqliteStatement::bind_null(int at) {
  sqlite3_bind_null(statement_.get(), at);
  return *this;
}

SqliteStatement::Step SqliteStatement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW:
      return Step::row;
    case SQLITE_DONE:
      return Step::done;
    default:
      return Step::failed;
  }
}

bool SqliteStatement::run() {
  Step last = step();
  while (last == Step::row) last = step();
  reset();
  return last == Step::done;
}

void SqliteStatement::reset() {
  sqlite3_reset(statement_.get());
}

std::int64_t SqliteStatement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double SqliteStatement::real(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view SqliteStatement::bytes(int column) const {
  const auto* start = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return start == nullptr ? std::string_view{}
                          : std::string_view{start, static_cast<std::size_t>(size)};
}

bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<SqliteTransaction> SqliteTransaction::begin(SqliteConnection& connection) {
  if (auto begun = connection.execute("BEGIN IMMEDIATE", "begin"); !begun)
    return tl::unexpected{std::move(begun).error()};
  return SqliteTransaction{connection};
}

SqliteTransaction::SqliteTransaction(SqliteTransaction&& other) noexcept
    : connection_{std::exchange(other.connection_, nullptr)} {}

Result<void> SqliteTransaction::commit() {
  SqliteConnection& connection = *connection_;
  auto committed = connection.execute("COMMIT", "commit");
  if (committed) connection_ = nullptr;
  return committed;
}

SqliteTransaction::~SqliteTransaction() {
  if (connection_ == nullptr || sqlite3_get_autocommit(connection_->handle()) != 0) return;
  sqlite3_exec(connection_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

}  // namespace weir::control
