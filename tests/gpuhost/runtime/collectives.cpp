// Warp collectives: lanes meet on the same operation and the same mask; the last one computes for all.
#include <cstdio>
#include <string>

#include "checker.hpp"
#include "faults.hpp"
#include "state.hpp"

namespace gpuhost {

namespace {

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::syncwarp: return "__syncwarp";
    case Operation::shuffle: return "__shfl_sync";
    case Operation::shuffle_up: return "__shfl_up_sync";
    case Operation::shuffle_down: return "__shfl_down_sync";
    case Operation::shuffle_xor: return "__shfl_xor_sync";
    case Operation::ballot: return "__ballot_sync (or any, or all)";
    case Operation::match: return "__match_any_sync";
    case Operation::reduce_add: return "__reduce_add_sync";
    case Operation::reduce_min: return "__reduce_min_sync";
    case Operation::reduce_max: return "__reduce_max_sync";
    case Operation::reduce_and: return "__reduce_and_sync";
    case Operation::reduce_or: return "__reduce_or_sync";
    case Operation::reduce_xor: return "__reduce_xor_sync";
  }
  return "?";
}

// "thread 5 of block 2 calls __syncwarp with mask 0x0000ffff"
std::string describe(const Warp& warp, int lane) {
  const Collective& call = warp.calls[lane];
  char mask[16];
  std::snprintf(mask, sizeof mask, "0x%08x", call.mask);
  return gpuhost::name_of(block.threads[warp.first_thread + lane]) + " calls " + name_of(call.operation) +
         " with mask " + mask;
}

[[noreturn]] void fault_for_exited(const Warp& warp, int caller, unsigned exited) {
  const std::string lane = std::to_string(__builtin_ctz(exited));
  fault(describe(warp, caller) + ", which names lane " + lane + ", which has exited");
}

void check_mask(const Warp& warp, int lane) {
  const unsigned mask = warp.calls[lane].mask;
  if (!(mask >> lane & 1)) fault(describe(warp, lane) + ", in which it is not named");
  if (mask & warp.exited) fault_for_exited(warp, lane, mask & warp.exited);
}

bool is_same_call(const Collective& one, const Collective& other) {
  return one.operation == other.operation && one.mask == other.mask;
}

// Two lanes that name each other have to make the same call. Where only one names the other, that other may
// be elsewhere, and come to the meeting later.
void check_against(const Warp& warp, int lane, int other) {
  const Collective &call = warp.calls[lane], &waiting_call = warp.calls[other];
  const bool name_each_other = (call.mask >> other & 1) && (waiting_call.mask >> lane & 1);
  if (name_each_other && !is_same_call(call, waiting_call)) {
    fault("mismatched warp collectives: " + describe(warp, other) + ", " + describe(warp, lane));
  }
}

// Lets a lane wait. As long as all lanes make the same call, comparing with one of them is enough.
void join(Warp& warp, int lane) {
  const unsigned waiting = warp.waiting;
  if (!waiting) {
    warp.is_mixed = false;
  } else if (warp.is_mixed || !is_same_call(warp.calls[lane], warp.calls[__builtin_ctz(waiting)])) {
    warp.is_mixed = true;
    for_each_lane(waiting, [&](int other) { check_against(warp, lane, other); });
  }
  warp.waiting |= 1u << lane;
}

// All lanes of the mask that exist wait in this call. The last warp of a block may be short.
bool is_complete(const Warp& warp, const Collective& call) {
  const unsigned lanes = call.mask & warp.existing;
  bool complete = (warp.waiting & lanes) == lanes;
  if (complete && warp.is_mixed) {
    for_each_lane(lanes, [&](int lane) { complete = complete && is_same_call(call, warp.calls[lane]); });
  }
  return complete;
}

void match(Warp& warp, unsigned lanes) {
  for_each_lane(lanes, [&](int lane) {
    Collective& call = warp.calls[lane];
    for_each_lane(lanes, [&](int other) {
      if (warp.calls[other].value == call.value) call.result |= 1u << other;
    });
  });
}

void shuffle(Warp& warp, unsigned lanes) {
  for_each_lane(lanes, [&](int lane) {
    Collective& call = warp.calls[lane];
    if (call.source < 0 || call.source >= lanes_per_warp || !(lanes >> call.source & 1)) {
      fault(describe(warp, lane) + " and reads lane " + std::to_string(call.source) + ", outside the mask");
    }
    call.result = warp.calls[call.source].value;
  });
}

std::uint64_t ballot(const Warp& warp, unsigned lanes) {
  std::uint64_t votes = 0;
  for_each_lane(lanes, [&](int lane) { votes |= std::uint64_t(warp.calls[lane].value != 0) << lane; });
  return votes;
}

std::uint64_t combine(Operation operation, std::uint64_t one, std::uint64_t other) {
  const bool is_less = std::int64_t(one) < std::int64_t(other);
  switch (operation) {
    case Operation::reduce_add: return one + other;
    case Operation::reduce_min: return is_less ? one : other;
    case Operation::reduce_max: return is_less ? other : one;
    case Operation::reduce_and: return one & other;
    case Operation::reduce_or: return one | other;
    default: return one ^ other;
  }
}

std::uint64_t reduce(const Warp& warp, unsigned lanes, Operation operation) {
  std::uint64_t total = warp.calls[__builtin_ctz(lanes)].value;
  const unsigned others = lanes & (lanes - 1);
  for_each_lane(others, [&](int lane) { total = combine(operation, total, warp.calls[lane].value); });
  return total;
}

void give_all(Warp& warp, unsigned lanes, std::uint64_t result) {
  for_each_lane(lanes, [&](int lane) { warp.calls[lane].result = result; });
}

void compute(Warp& warp, unsigned lanes, Operation operation) {
  switch (operation) {
    case Operation::syncwarp: return order_lanes(warp, lanes);
    case Operation::shuffle:
    case Operation::shuffle_up:
    case Operation::shuffle_down:
    case Operation::shuffle_xor: return shuffle(warp, lanes);
    case Operation::match: return match(warp, lanes);
    case Operation::ballot: return give_all(warp, lanes, ballot(warp, lanes));
    default: return give_all(warp, lanes, reduce(warp, lanes, operation));
  }
}

void release(Warp& warp, unsigned lanes) {
  warp.waiting &= ~lanes;
  for_each_lane(lanes, [&](int lane) { make_ready(block.threads[warp.first_thread + lane]); });
}

}  // namespace

std::uint64_t warp_collective(Operation operation, unsigned mask, std::uint64_t value, int source) {
  set_fault_site(__builtin_return_address(0));
  Warp& warp = warp_of(*running);
  const int lane = lane_of(*running);
  Collective& call = warp.calls[lane];
  call = {operation, mask, source, value, 0};
  check_mask(warp, lane);
  join(warp, lane);
  if (is_complete(warp, call)) {
    const unsigned lanes = mask & warp.existing;
    compute(warp, lanes, operation);
    release(warp, lanes);
    yield();
  } else {
    wait_as(Status::in_collective);
  }
  return call.result;
}

std::string describe_collective(const Thread& thread) { return describe(warp_of(thread), lane_of(thread)); }

void check_exit() {
  const Warp& warp = warp_of(*running);
  const int exiting = lane_of(*running);
  for_each_lane(warp.waiting, [&](int lane) {
    if (warp.calls[lane].mask >> exiting & 1) fault_for_exited(warp, lane, 1u << exiting);
  });
}

}  // namespace gpuhost
