// SPDX-License-Identifier: Apache-2.0
#include "transport/server_loop.h"

#include <algorithm>
#include <ctime>

#include "transport/http_connection.h"
#include "transport/response_text.h"

namespace weir::transport {
namespace {

thread_local const ServerLoop* current_loop = nullptr;

// Time limits are looked at this often: a quarter of the shortest, within reason.
std::chrono::milliseconds interval_for(const HttpServerOptions& options) {
  using std::chrono::milliseconds;
  const auto shortest = std::min({options.header_time, options.body_time, options.idle_time,
                                  options.write_time, options.stop_time});
  return std::clamp(shortest / 4, milliseconds{5}, milliseconds{500});
}

}  // namespace

ServerContext::ServerContext(HttpServerOptions chosen, Router table)
    : options{std::move(chosen)},
      router{std::move(table)},
      addresses{options.connections_per_address, options.rate_per_address},
      requests_{options.rate_of_all, std::chrono::steady_clock::now()} {}

long ServerContext::seconds_to_wait(SteadyTime now) {
  if (!requests_.is_limited()) return 0;
  const std::lock_guard lock{mutex_};
  return requests_.take(now) ? 0 : requests_.wait_seconds();
}

ServerLoop::ServerLoop(std::shared_ptr<ServerContext> context)
    : context_{std::move(context)},
      keeps_running_{io_.get_executor()},
      sweeper_{io_},
      sweep_interval_{interval_for(context_->options)} {}

void ServerLoop::start() {
  thread_ = std::thread{[self = shared_from_this()] {
    current_loop = self.get();
    self->sweep();
    self->io_.run();
    current_loop = nullptr;
  }};
}

void ServerLoop::join() {
  if (thread_.joinable()) thread_.join();
}

void ServerLoop::run_left_over() {
  io_.restart();
  io_.poll();
}

bool ServerLoop::is_this_thread() const {
  return current_loop == this;
}

bool ServerLoop::post(Message message) {
  {
    const std::lock_guard lock{inbox_mutex_};
    if (is_over_) return false;
    inbox_.push_back(std::move(message));
    if (inbox_.size() > 1) return true;
  }
  boost::asio::post(io_, [self = shared_from_this()] { self->read_inbox(); });
  return true;
}

void ServerLoop::read_inbox() {
  {
    const std::lock_guard lock{inbox_mutex_};
    messages_.swap(inbox_);
  }
  for (Message& message : messages_) message.to->take(std::move(message));
  messages_.clear();
}

void ServerLoop::add(std::shared_ptr<HttpConnection> connection) {
  connection->place_in_loop = connections_.size();
  connections_.push_back(std::move(connection));
}

void ServerLoop::remove(HttpConnection& connection) {
  const std::size_t place = connection.place_in_loop;
  connections_.back()->place_in_loop = place;
  std::swap(connections_[place], connections_.back());
  connections_.pop_back();
  finish_if_empty();
}

std::string_view ServerLoop::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_seconds_) {
    date_seconds_ = now;
    date_ = http_date(now);
  }
  return date_;
}

void ServerLoop::sweep() {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<HttpConnection>> late;
  std::vector<std::shared_ptr<HttpConnection>> unwelcome;
  for (const auto& connection : connections_) {
    if (connection->deadline() <= now) {
      late.push_back(connection);
    } else if (connection->is_unwelcome()) {
      unwelcome.push_back(connection);
    }
  }
  for (const auto& connection : late) connection->time_is_up();
  for (const auto& connection : unwelcome) connection->close();
  if (is_stopping_ && now >= stop_deadline_) close_all();
  if (is_stopping_ && connections_.empty()) return;
  sweeper_.expires_after(sweep_interval_);
  sweeper_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->sweep();
  });
}

void ServerLoop::close_all() {
  const auto all = connections_;
  for (const auto& connection : all) connection->close();
}

void ServerLoop::begin_stop() {
  boost::asio::post(io_, [self = shared_from_this()] {
    self->is_stopping_ = true;
    self->stop_deadline_ = std::chrono::steady_clock::now() + self->context_->options.stop_time;
    const auto all = self->connections_;
    for (const auto& connection : all) connection->finish_soon();
    self->finish_if_empty();
  });
}

void ServerLoop::finish_if_empty() {
  if (!is_stopping_ || !connections_.empty()) return;
  sweeper_.cancel();
  keeps_running_.reset();
  const std::lock_guard lock{inbox_mutex_};
  is_over_ = true;
}

}  // namespace weir::transport
