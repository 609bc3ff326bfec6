"""``python -m gpualto`` is the command line."""

import sys

from gpualto.cli import main

sys.exit(main())
