// SPDX-License-Identifier: Apache-2.0
//
// The parts of Asio the server uses. Included from here only, so that every file sees it with the same settings.
#pragma once

#ifdef __SANITIZE_THREAD__
// The thread sanitizer does not know fences; a loop has one thread and needs none.
#define BOOST_ASIO_DISABLE_FENCED_BLOCK
#endif

#include <boost/asio/buffer.hpp>
#include <boost/asio/completion_condition.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
