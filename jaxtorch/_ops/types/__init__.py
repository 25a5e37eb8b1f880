"""Element types, devices, layouts and memory formats: what they are, and tensors converted from one to another."""
