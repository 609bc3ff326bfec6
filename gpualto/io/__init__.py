"""Files: tensors and models, in and out."""
