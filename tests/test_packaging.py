"""What is installed is what is in the folders, and importing it costs no more than NumPy."""

import subprocess
import sys
import tomllib
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import gpualto
from tests.cases import TESTS

ROOT = TESTS.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_every_folder_of_the_package_is_listed():
    folders = {".".join(path.parent.relative_to(ROOT).parts) for path in ROOT.glob("gpualto/**/__init__.py")}
    assert set(CONFIG["tool"]["setuptools"]["packages"]) == folders | {"gpualto.kernels"}


def test_the_versions_agree():
    assert gpualto.__version__ == CONFIG["project"]["version"] == version("gpualto")


def test_kernels_and_data_are_installed():
    assert resources.files("gpualto.kernels").joinpath("index.cuh").is_file()
    assert resources.files("gpualto").joinpath("py.typed").is_file()
    assert gpualto.datasets.flights().labels[0].name == "carrier"


def modules_after(statement):
    command = [sys.executable, "-c", f"import sys; {statement}; print(*sys.modules)"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_importing_loads_no_optional_package():
    heavy = {"cupy", "numba", "scipy", "matplotlib", "pyarrow", "pandas", "tqdm", "nvtx"}
    assert not heavy & modules_after("import gpualto")


def test_the_core_works_without_optional_packages(tmp_path):
    missing = ("scipy", "pyarrow", "numba", "nvtx", "matplotlib")
    script = "\n".join(
        [
            "import sys",
            *(f"sys.modules[{name!r}] = None" for name in missing),
            "import gpualto",
            "X = gpualto.datasets.flights()",
            "assert gpualto.cp_als(X, 2, random_state=0).fit > 0.1",
            "try:",
            "    X.to_scipy()",
            "except ImportError as error:",
            "    print(error)",
        ]
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert run.stdout == ('Tensor.to_scipy needs scipy, which is not installed: pip install "gpualto[cpu]"\n')


def test_every_public_name_is_documented():
    for name in gpualto.__all__:
        assert getattr(gpualto, name).__doc__
    assert Path(gpualto.__file__).parent.joinpath("py.typed").is_file()
