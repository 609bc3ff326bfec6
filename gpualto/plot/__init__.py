"""Pictures of models, layouts and tensors, by matplotlib: figures to be saved, no window is opened."""

from gpualto.plot.components import plot_column, plot_components
from gpualto.plot.curves import plot_fit
from gpualto.plot.layout import plot_layout
from gpualto.plot.ranks import plot_rank_scan
from gpualto.plot.reuse import plot_reuse

__all__ = ["plot_column", "plot_components", "plot_fit", "plot_layout", "plot_rank_scan", "plot_reuse"]
