// Races by happens-before, and bounds.
//
// Two accesses race if they touch the same bytes, at least one writes, not both are atomic, and nothing
// orders them. Within a block, __syncthreads orders everything; within a warp, __syncwarp orders the lanes
// that it names, as vector clocks tell; shuffles and votes exchange values, but order no memory. Nothing
// orders blocks.
#include "checker.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "faults.hpp"
#include "shared_memory.hpp"

namespace gpuhost {

namespace {

struct Region {
  std::string name;  // "global memory, array out"
  bool is_shared;
  bool is_writable;
  Shadow shadow;
};

// How far each lane of the own warp had come when this thread last heard of it; its own entry is its tick.
struct Clock {
  std::uint32_t seen[lanes_per_warp];
};

constexpr std::ptrdiff_t far_away = 1 << 20;

bool is_checking = false;
bool is_checking_global = false;
std::vector<Region> regions;
std::size_t last_region = 0;
std::vector<Clock> clocks;

void add_region(const std::string& name, const Range& range, bool is_shared, bool is_writable) {
  if (range.bytes) regions.push_back({name, is_shared, is_writable, Shadow(range)});
}

// What a thread may touch without it being memory of the kernel: its local variables and parameters...
bool is_local(const void* address) { return is_on_stack(address) || address == &current; }

// ... the built-in variables, constants of its library, and its arguments where they are copied.
bool is_of_launch(const void* address, std::size_t size) {
  const Range builtins = {reinterpret_cast<char*>(block.threads.data()),
                          block.threads.size() * sizeof(Thread)};
  return builtins.contains(address, size) || module_memory.contains(address, size) ||
         argument_memory.contains(address, size);
}

Region* find_region(const void* address, std::size_t size) {
  if (last_region < regions.size() && regions[last_region].shadow.range().contains(address, size)) {
    return &regions[last_region];
  }
  for (std::size_t i = 0; i < regions.size(); ++i) {
    if (regions[i].shadow.range().contains(address, size)) {
      last_region = i;
      return &regions[i];
    }
  }
  return nullptr;
}

// Order.

std::uint32_t tick_of(const Thread& thread) { return clocks[thread.builtins.thread].seen[lane_of(thread)]; }

Event event_now(const void* return_address) {
  return {block.number, running->builtins.thread, block.epoch, tick_of(*running),
          site_offset(return_address)};
}

bool is_ordered(const Event& earlier, const Event& now) {
  if (earlier.block != now.block) return false;
  if (earlier.epoch != now.epoch || earlier.thread == now.thread) return true;
  return earlier.is_same_warp(now) &&
         clocks[now.thread].seen[earlier.thread % lanes_per_warp] >= earlier.tick;
}

// Races.

const char* name_of(Access access) {
  return access == Access::read ? "read" : access == Access::write ? "write" : "atomic";
}

[[noreturn]] void fault_for_race(const Region& region, std::size_t offset, const Event& earlier,
                                 Access earlier_access, Access access) {
  fault("race in " + region.name + " at byte " + std::to_string(offset) + ": " + name_of(earlier_access) +
        " by " + gpuhost::name_of(earlier.thread, earlier.block) + name_of_site(earlier.site) + ", then " +
        name_of(access) + " by " + gpuhost::name_of(*running));
}

void check_races(const Region& region, const Cell& cell, std::size_t offset, Access access,
                 const Event& now) {
  const auto is_conflict = [&](const Event& earlier) {
    const bool is_of_other_memory = region.is_shared && earlier.block != now.block;
    return !is_of_other_memory && !is_ordered(earlier, now);
  };
  if (cell.write.exists() && is_conflict(cell.write)) {
    fault_for_race(region, offset, cell.write, Access::write, access);
  }
  if (access != Access::read) {
    if (const Event* read = cell.reads.find(is_conflict)) {
      fault_for_race(region, offset, *read, Access::read, access);
    }
  }
  if (access != Access::atomic) {
    if (const Event* atomic = cell.atomics.find(is_conflict)) {
      fault_for_race(region, offset, *atomic, Access::atomic, access);
    }
  }
}

void record(Cell& cell, Access access, const Event& now) {
  switch (access) {
    case Access::read: return cell.reads.add(now);
    case Access::write: cell.write = now; return;
    case Access::atomic: return cell.atomics.add(now);
  }
}

// Bounds.

std::string describe(const void* address, std::size_t size, Access access) {
  char place[32];
  std::snprintf(place, sizeof place, "%p", address);
  return std::string(name_of(access)) + " of " + std::to_string(size) + " bytes at " + place + " by " +
         gpuhost::name_of(*running);
}

// How far an access reaches beyond the end of a range, or before its start.
std::ptrdiff_t bytes_outside(const Range& range, const void* address, std::size_t size) {
  const char* begin = static_cast<const char*>(address);
  return std::max(begin + size - (range.begin + range.bytes), range.begin - begin);
}

std::string describe_nearest(const void* address, std::size_t size) {
  const auto distance = [&](const Region& region) {
    return bytes_outside(region.shadow.range(), address, size);
  };
  const auto nearest =
      std::min_element(regions.begin(), regions.end(),
                       [&](const auto& one, const auto& other) { return distance(one) < distance(other); });
  if (nearest == regions.end() || distance(*nearest) > far_away) return "";
  const Range& range = nearest->shadow.range();
  const std::ptrdiff_t offset = static_cast<const char*>(address) - range.begin;
  return "; the nearest is " + nearest->name + " of " + std::to_string(range.bytes) +
         " bytes, of which this is byte " + std::to_string(offset);
}

void check_outside(const void* address, std::size_t size, Access access) {
  if (is_of_launch(address, size) || (!is_checking_global && !is_dynamic_mapping(address))) return;
  fault("out of bounds: " + describe(address, size, access) + describe_nearest(address, size));
}

}  // namespace

void begin_checking(const Array* arrays, std::size_t count, bool global_memory) {
  is_checking = true;
  is_checking_global = global_memory;
  last_region = 0;
  regions.clear();
  add_region("shared variables", static_memory, true, true);
  add_region("dynamic shared memory", dynamic_memory, true, true);
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::string("global memory, array ") + arrays[i].name + ",";
    add_region(name, {arrays[i].begin, arrays[i].bytes}, false, arrays[i].writable);
  }
}

void begin_checking_block() {
  if (!is_checking) return;
  clocks.assign(block.threads.size(), Clock{});
  for (unsigned thread = 0; thread < clocks.size(); ++thread) {
    clocks[thread].seen[thread % lanes_per_warp] = 1;
  }
}

void end_checking() {
  is_checking = false;
  regions.clear();
}

void order_lanes(const Warp& warp, unsigned lanes) {
  if (!is_checking) return;
  Clock joined = {};
  for_each_lane(lanes, [&](int lane) {
    const Clock& clock = clocks[warp.first_thread + lane];
    for (int i = 0; i < lanes_per_warp; ++i) joined.seen[i] = std::max(joined.seen[i], clock.seen[i]);
  });
  for_each_lane(lanes, [&](int lane) {
    Clock& clock = clocks[warp.first_thread + lane];
    clock = joined;
    ++clock.seen[lane];
  });
}

void check_access(const void* address, std::size_t size, std::size_t alignment, Access access,
                  const void* return_address) {
  if (!is_checking || size == 0 || is_local(address)) return;
  set_fault_site(return_address);
  if (reinterpret_cast<std::uintptr_t>(address) % alignment) {
    fault("misaligned " + describe(address, size, access));
  }
  Region* region = find_region(address, size);
  if (!region) return check_outside(address, size, access);
  if (access != Access::read && !region->is_writable) {
    fault("read-only " + region->name + " suffers " + describe(address, size, access));
  }
  const Event now = event_now(return_address);
  region->shadow.for_each_cell(address, size, [&](Cell& cell, std::size_t offset) {
    check_races(*region, cell, offset, access, now);
    record(cell, access, now);
  });
}

}  // namespace gpuhost
