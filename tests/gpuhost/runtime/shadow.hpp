// Shadow memory: for each word of a range, who accessed it last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "state.hpp"

namespace gpuhost {

enum class Access { read, write, atomic };

// An access that was made. Epoch 0 stands for none.
struct Event {
  std::uint32_t block;
  std::uint32_t thread;
  std::uint32_t epoch;  // barriers that its block had passed
  std::uint32_t tick;   // its thread's own clock
  std::uint32_t site;

  bool exists() const { return epoch != 0; }
  bool is_same_warp(const Event& other) const {
    return block == other.block && thread / lanes_per_warp == other.thread / lanes_per_warp;
  }
};

// Accesses that do not race with each other, reads or atomics. Blocks run one after the other, so that one
// event stands for all earlier blocks. Within the block two are kept, of two warps if possible: in any one
// epoch, whoever conflicts with one of many is likely to conflict with one of these.
class History {
 public:
  void add(const Event& event);

  // The first event that `is_conflict` holds for.
  template <class Condition>
  const Event* find(Condition is_conflict) const {
    for (const Event* event : {&latest_, &other_, &other_block_}) {
      if (event->exists() && is_conflict(*event)) return event;
    }
    return nullptr;
  }

 private:
  Event latest_ = {}, other_ = {}, other_block_ = {};
};

struct Cell {
  Event write = {};  // only plain ones; one is enough, for the next has to be ordered after it
  History reads, atomics;
};

// One cell for each 4 bytes, until an access does not fall on whole cells; from then on one for each byte.
class Shadow {
 public:
  explicit Shadow(const Range& range) : range_(range), cells_((range.bytes + 3) / 4) {}

  const Range& range() const { return range_; }

  // Calls `visit(cell, byte offset of the cell)` for each cell of an access.
  template <class Visit>
  void for_each_cell(const void* address, std::size_t size, Visit visit) {
    const std::size_t first = std::size_t(static_cast<const char*>(address) - range_.begin);
    if (bytes_per_cell_ > 1 && (first | size) % bytes_per_cell_) refine();
    for (std::size_t byte = first; byte < first + size; byte += bytes_per_cell_) {
      visit(cells_[byte / bytes_per_cell_], byte);
    }
  }

 private:
  void refine();

  Range range_;
  std::size_t bytes_per_cell_ = 4;
  std::vector<Cell> cells_;
};

}  // namespace gpuhost
