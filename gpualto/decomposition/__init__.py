"""CP models and the algorithms that make them."""
