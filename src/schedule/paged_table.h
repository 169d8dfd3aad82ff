// SPDX-License-Identifier: Apache-2.0
//
// A table of values in pages of 256 that is cheap to fork: a fork shares the pages, and whoever
// writes first to a shared page gets a copy of it. A fork may be read and written on another thread
// while the original goes on.
//
// Ownership is a flag per page and table, not a reference count: after a fork neither side owns any
// page, so no thread ever writes to a page that another can see.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace weir::schedule {

template <class T>
class PagedTable {
 public:
  static constexpr std::size_t kPageSize = 256;

  PagedTable() = default;
  PagedTable(PagedTable&&) noexcept = default;
  PagedTable& operator=(PagedTable&&) noexcept = default;
  PagedTable(const PagedTable&) = delete;  // say fork()
  PagedTable& operator=(const PagedTable&) = delete;

  PagedTable fork() {
    owned_.assign(owned_.size(), 0);
    PagedTable copy;
    copy.pages_ = pages_;
    copy.owned_ = owned_;
    copy.size_ = size_;
    return copy;
  }

  std::size_t size() const { return size_; }

  const T& operator[](std::size_t i) const { return (*pages_[i / kPageSize])[i % kPageSize]; }

  // For writing. The reference is good until the next fork.
  T& at_for_write(std::size_t i) { return (*owned_page(i / kPageSize))[i % kPageSize]; }

  void push_back(T value) {
    if (size_ % kPageSize == 0) {
      pages_.push_back(std::make_shared<Page>());
      owned_.push_back(1);
    }
    (*owned_page(size_ / kPageSize))[size_ % kPageSize] = std::move(value);
    ++size_;
  }

 private:
  using Page = std::array<T, kPageSize>;

  Page* owned_page(std::size_t page) {
    if (owned_[page] == 0) {
      pages_[page] = std::make_shared<Page>(*pages_[page]);
      owned_[page] = 1;
    }
    return pages_[page].get();
  }

  std::vector<std::shared_ptr<Page>> pages_;
  std::vector<std::uint8_t> owned_;
  std::size_t size_ = 0;
};

}  // namespace weir::schedule
