import hypothesis

# The first example of a kind waits for a compiler.
hypothesis.settings.register_profile("gpualto", deadline=None)
hypothesis.settings.load_profile("gpualto")
