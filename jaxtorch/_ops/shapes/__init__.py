"""The same elements in another shape or order: views, parts, and tensors joined, repeated or reversed."""
