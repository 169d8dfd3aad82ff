// SPDX-License-Identifier: Apache-2.0
//
// Gandiva as published with ElasticFlow: jobs of equal size share sets of nodes and take turns
// there. Steps are as long as the time between arrivals; turns change only at whole minutes.
#include <array>
#include <cmath>

#include "simulate/published/bookkeeping.h"

namespace weir::simulate::published {
namespace {

constexpr std::array kClasses{1, 2, 4, 8, 12, 16, 24, 32, 40, 48, 56, 64, 72, 88, 128, 256};

struct NodeSet {
  std::int32_t nodes = 0;
  std::int32_t capacity = 1;   // jobs that run at once
  std::int32_t load = 0;       // jobs that were ever put here since it was last arranged
  std::vector<JobIndex> jobs;  // the first ones run
};
using NodeSets = std::vector<NodeSet>;

void sort_by_load(NodeSets& sets) {
  std::stable_sort(sets.begin(), sets.end(),
                   [](const NodeSet& a, const NodeSet& b) { return a.load < b.load; });
}

class Gandiva {
 public:
  explicit Gandiva(Bookkeeping& book)
      : book_{book}, arrivals_{book.jobs}, executed_(book.jobs.size()), free_{book.setup.nodes} {}

  void run() {
    Seconds now = arrivals_.first().time;
    Seconds passed = 0;
    while (!arrivals_.empty() || !waiting_.empty() || !running_.empty()) {
      adjust();
      const bool has_room = execute(now, passed);
      if (arrivals_.at(now) != nullptr) {
        for (const JobIndex index : arrivals_.take(now).come) start_or_wait(index);
      }
      if (has_room) start_waiting();
      if (arrivals_.empty()) {
        passed = book_.setup.slot;
        now += passed;
        continue;
      }
      charge_overhead();
      arrivals_.coalesce(now, book_.setup.slot);
      passed = arrivals_.first().time - now;
      now = arrivals_.first().time;
    }
  }

 private:
  PublishedJob& job(JobIndex index) { return book_.jobs[index]; }
  std::int32_t per_node() const { return book_.setup.gpus_per_node; }
  std::int32_t nodes_for(std::int32_t gpus) const { return (gpus + per_node() - 1) / per_node(); }

  NodeSets& sets_of(std::int32_t gpus) {
    const auto at = std::find(kClasses.begin(), kClasses.end(), gpus);
    return classes_[static_cast<std::size_t>(at - kClasses.begin())];
  }

  NodeSet take_nodes(std::int32_t gpus) {
    const std::int32_t nodes = nodes_for(gpus);
    free_ -= nodes;
    return {nodes, nodes * per_node() / gpus, 0, {}};
  }

  static void put(NodeSets& sets, std::size_t at, JobIndex index) {
    ++sets[at].load;
    sets[at].jobs.push_back(index);
    sort_by_load(sets);
  }

  static void move_first_to_the_end(NodeSets& sets) {
    std::rotate(sets.begin(), sets.begin() + 1, sets.end());
  }

  bool place(JobIndex index) {
    const std::int32_t gpus = job(index).asked;
    NodeSets& sets = sets_of(gpus);
    if (!sets.empty()) {
      const bool has_room = sets.front().load + 1 < sets.front().capacity;
      move_first_to_the_end(sets);
      if (has_room) {
        put(sets, sets.size() - 1, index);
        return true;
      }
    }
    if (nodes_for(gpus) <= free_) {
      sets.push_back(take_nodes(gpus));
      put(sets, sets.size() - 1, index);
      return true;
    }
    if (sets.empty()) return false;
    move_first_to_the_end(sets);
    put(sets, sets.size() - 1, index);
    return true;
  }

  void start_or_wait(JobIndex index) { (place(index) ? running_ : waiting_).push_back(index); }

  // As published, whoever stands behind one that starts is passed over.
  void start_waiting() {
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      const JobIndex index = waiting_[i];
      if (!place(index)) continue;
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
      running_.push_back(index);
    }
  }

  // Nodes in proportion to demand.
  void adjust() {
    std::array<std::int32_t, kClasses.size()> demand{};
    std::array<std::int32_t, kClasses.size()> occupied{};
    std::int32_t total = 0;
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
      for (const NodeSet& set : classes_[i]) {
        demand[i] += static_cast<std::int32_t>(set.jobs.size()) * kClasses[i];
        occupied[i] += set.nodes * per_node();
      }
      total += demand[i];
    }
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
      if (demand[i] == 0) continue;
      const double share = static_cast<double>(demand[i]) / total * book_.setup.gpus();
      const std::int32_t target = std::min(static_cast<std::int32_t>(share), demand[i]);
      const std::int32_t difference = target - occupied[i];
      const std::int32_t sets = (std::abs(difference) + kClasses[i] - 1) / kClasses[i];
      if (difference > 0) expand(i, sets);
      if (difference < 0) shrink(classes_[i], sets);
    }
  }

  void expand(std::size_t of, std::int32_t count) {
    NodeSets& sets = classes_[of];
    const std::int32_t nodes = nodes_for(kClasses[of]);
    bool rearranges = false;
    for (std::int32_t i = 0; i < count; ++i) {
      const bool has_nodes = nodes <= free_;
      if (has_nodes) sets.push_back(take_nodes(kClasses[of]));
      // As published: after single nodes were added the jobs stay where they are.
      rearranges = !has_nodes || nodes > 1;
    }
    if (!rearranges) return;
    std::vector<JobIndex> all;
    for (NodeSet& set : sets) {
      all.insert(all.end(), set.jobs.begin(), set.jobs.end());
      if (set.jobs.empty()) continue;
      set.jobs.clear();
      set.load = 0;
    }
    for (const JobIndex index : all) put(sets, 0, index);
  }

  void shrink(NodeSets& sets, std::int32_t count) {
    count = std::min(count, static_cast<std::int32_t>(sets.size()) - 1);
    std::vector<JobIndex> all;
    for (std::int32_t i = 0; i < count; ++i) {
      all.insert(all.end(), sets.front().jobs.begin(), sets.front().jobs.end());
      free_ += sets.front().nodes;
      sets.erase(sets.begin());
    }
    for (const JobIndex index : all) put(sets, 0, index);
  }

  // Whether nodes became free.
  bool execute(Seconds now, Seconds passed) {
    const bool changes_turns = now % 60 == 0;
    bool has_room = false;
    for (NodeSets& sets : classes_) {
      for (NodeSet& set : sets) {
        run_first(set, now, passed, changes_turns);
        if (!set.jobs.empty()) continue;
        free_ += set.nodes;
        has_room = true;
      }
      std::erase_if(sets, [](const NodeSet& set) { return set.jobs.empty(); });
    }
    return has_room;
  }

  void run_first(NodeSet& set, Seconds now, Seconds passed, bool changes_turns) {
    const auto at_once = std::min(set.jobs.size(), static_cast<std::size_t>(set.capacity));
    std::vector<JobIndex> ended;
    for (std::size_t i = 0; i < at_once; ++i) {
      const JobIndex index = set.jobs[i];
      Seconds& executed = executed_[index];
      executed += std::max<Seconds>(0, passed - job(index).overhead);
      job(index).overhead = 0;
      if (executed < job(index).duration) continue;
      const Seconds end = now - (executed - job(index).duration);
      book_.complete(index, end, end);
      ended.push_back(index);
    }
    if (changes_turns && set.jobs.size() > at_once)
      std::rotate(set.jobs.begin(), set.jobs.begin() + static_cast<std::ptrdiff_t>(at_once),
                  set.jobs.end());
    for (const JobIndex index : ended) {
      remove(set.jobs, index);
      remove(running_, index);
    }
  }

  void charge_overhead() {
    const bool restarts = count_ > 0 && count_ % book_.setup.slot == 0;
    ++count_;
    for (const JobIndex index : running_)
      job(index).overhead = book_.overhead().of(job(index).asked, restarts, false);
  }

  Bookkeeping& book_;
  EventList arrivals_;
  std::vector<Seconds> executed_;  // by job
  std::int32_t free_;              // nodes
  std::array<NodeSets, kClasses.size()> classes_;
  std::vector<JobIndex> running_;
  std::vector<JobIndex> waiting_;
  Seconds count_ = 0;  // of events
};

}  // namespace

void run_gandiva(Bookkeeping& book) {
  Gandiva{book}.run();
}

}  // namespace weir::simulate::published
