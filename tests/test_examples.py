"""The examples find in real data what is known about them."""

import runpy
from pathlib import Path

EXAMPLES = Path(__file__).parent.parent / "examples"


def lines_of(name, capsys):
    runpy.run_path(str(EXAMPLES / name))["main"]()
    return capsys.readouterr().out.splitlines()


def test_airlines_have_networks(capsys):
    lines = lines_of("airlines.py", capsys)
    assert len(lines) == 8
    by_airline = {line.split(" by ")[1][:2]: line for line in lines}
    assert {"EV", "UA", "DL", "B6", "US", "WN"} <= set(by_airline)
    assert "ATL" in by_airline["DL"]
    assert "MDW" in by_airline["WN"]
    assert "CLT" in by_airline["US"]


def test_plot_arcs_are_circles_of_characters(capsys):
    circles = lines_of("plot_arcs.py", capsys)
    arcs = {
        "the students": {"Fantine", "Favourite", "Blacheville"},
        "the bishop of Digne": {"Mademoiselle Baptistine", "Madame Magloire"},
        "the trial": {"Jean Valjean", "Champmathieu"},
        "the Thénardiers": {"Thénardier", "Madame Thénardier"},
        "the barricade": {"Enjolras", "Courfeyrac"},
    }
    for arc, characters in arcs.items():
        assert any(all(name in circle for name in characters) for circle in circles), arc


def test_generations_follow_each_other(capsys):
    lines = lines_of("generations.py", capsys)
    assert len(lines) == 10
    starts = [int(line[:4]) for line in lines]
    assert starts[0] < 1930
    assert starts[-1] > 2000
    assert any("Michael" in line and ", M:" in line for line in lines)
    assert any("Linda" in line and ", F:" in line for line in lines)
    assert any("Jennifer" in line and ", F:" in line for line in lines)
