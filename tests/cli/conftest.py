import pytest

from gpualto.cli import main


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and gives its status, output and errors."""

    def run(*arguments):
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run
