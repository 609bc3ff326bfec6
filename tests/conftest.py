import os

import hypothesis

# The first example of a kind waits for a compiler. `.ci/run` tries the same examples each time, so that what it says
# depends on the change alone; everyone else tries others each time.
hypothesis.settings.register_profile("gpualto", deadline=None, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("gpualto")
