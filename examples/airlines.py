"""Airline networks in the flights out of New York in 2013.

Each component is a part of somebody's network: an airline, where it flies, at what hours and in which months.
Run ``python examples/airlines.py``; given a file name, such as flights.png, it draws them too.
"""

import sys

import gpualto


def main(picture: str | None = None) -> None:
    """Fit counts by Poisson CP, and say for each component whose it is."""
    X = gpualto.datasets.flights()  # carrier x destination x scheduled hour x month: number of flights
    model = gpualto.cp_apr(X, rank=8, random_state=0, n_restarts=3)
    carriers, destinations, hours, _ = model.labels
    for weight, carrier, destination, hour in zip(
        model.weights, *(factor.T for factor in model.factors[:3]), strict=True
    ):
        main_carrier = carrier.argmax()
        places = ", ".join(destinations.text(index) for index in (-destination).argsort()[:5])
        print(
            f"{weight:7,.0f} flights, {carrier[main_carrier]:.0%} of them by {carriers.text(main_carrier)}, "
            f"most at {hours.text(hour.argmax())}, to {places}"
        )
    if picture:
        from gpualto.plot import plot_components

        plot_components(model).savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
