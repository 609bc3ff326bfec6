#include "shadow.hpp"

namespace gpuhost {

void History::add(const Event& event) {
  if (latest_.exists() && latest_.block != event.block) {
    other_block_ = latest_;
    other_ = {};
  } else if (latest_.thread != event.thread) {
    const bool other_is_of_use =
        other_.exists() && other_.epoch == event.epoch && !other_.is_same_warp(event);
    if (!latest_.is_same_warp(event) || !other_is_of_use) other_ = latest_;
  }
  latest_ = event;
}

void Shadow::refine() {
  std::vector<Cell> bytes(range_.bytes);
  for (std::size_t byte = 0; byte < range_.bytes; ++byte) bytes[byte] = cells_[byte / bytes_per_cell_];
  cells_.swap(bytes);
  bytes_per_cell_ = 1;
}

}  // namespace gpuhost
