// SPDX-License-Identifier: Apache-2.0
#include "network/edge_colouring.h"

#include <algorithm>
#include <utility>

namespace weir::network {
namespace {

constexpr std::uint32_t kNoEdge = ~std::uint32_t{0};

class EdgeColouring {
 public:
  explicit EdgeColouring(std::span<const BipartiteEdge> edges) : edges_{edges} {
    std::uint32_t sizes[2] = {0, 0};
    for (const BipartiteEdge& edge : edges) {
      sizes[0] = std::max(sizes[0], edge.left + 1);
      sizes[1] = std::max(sizes[1], edge.right + 1);
    }
    std::vector<std::uint32_t> degree[2];
    for (int side = 0; side < 2; ++side) degree[side].resize(sizes[side], 0);
    for (const BipartiteEdge& edge : edges) {
      colours_ = std::max({colours_, ++degree[0][edge.left], ++degree[1][edge.right]});
    }
    for (int side = 0; side < 2; ++side) at_[side].assign(sizes[side] * colours_, kNoEdge);
  }

  std::vector<std::uint32_t> colour() {
    colour_.resize(edges_.size());
    for (std::uint32_t edge = 0; edge < edges_.size(); ++edge) {
      const std::uint32_t left_free = free_at(0, edges_[edge].left);
      const std::uint32_t right_free = free_at(1, edges_[edge].right);
      // Where left's colour is taken at the right end, the path of the two colours from there is
      // flipped. It cannot come back to the left end: there the first colour is free.
      if (slot(1, edges_[edge].right, left_free) != kNoEdge) {
        flip(edges_[edge].right, left_free, right_free);
      }
      give(edge, left_free);
    }
    return std::move(colour_);
  }

 private:
  std::uint32_t& slot(int side, std::uint32_t vertex, std::uint32_t colour) {
    return at_[side][vertex * colours_ + colour];
  }
  std::uint32_t free_at(int side, std::uint32_t vertex) {
    std::uint32_t colour = 0;
    while (slot(side, vertex, colour) != kNoEdge) ++colour;
    return colour;
  }
  void give(std::uint32_t edge, std::uint32_t colour) {
    colour_[edge] = colour;
    slot(0, edges_[edge].left, colour) = edge;
    slot(1, edges_[edge].right, colour) = edge;
  }
  void flip(std::uint32_t right, std::uint32_t taken, std::uint32_t free) {
    path_.clear();
    int side = 1;
    std::uint32_t vertex = right;
    std::uint32_t colour = taken;
    for (std::uint32_t edge = slot(side, vertex, colour); edge != kNoEdge;
         edge = slot(side, vertex, colour)) {
      path_.push_back(edge);
      side = 1 - side;
      vertex = side == 0 ? edges_[edge].left : edges_[edge].right;
      colour = colour == taken ? free : taken;
    }
    for (const std::uint32_t edge : path_) {
      slot(0, edges_[edge].left, colour_[edge]) = kNoEdge;
      slot(1, edges_[edge].right, colour_[edge]) = kNoEdge;
    }
    for (const std::uint32_t edge : path_) give(edge, colour_[edge] == taken ? free : taken);
  }

  std::span<const BipartiteEdge> edges_;
  std::uint32_t colours_ = 0;
  std::vector<std::uint32_t> at_[2];  // by vertex and colour: the edge
  std::vector<std::uint32_t> colour_;
  std::vector<std::uint32_t> path_;
};

}  // namespace

std::vector<std::uint32_t> colour_edges(std::span<const BipartiteEdge> edges) {
  return EdgeColouring{edges}.colour();
}

}  // namespace weir::network
