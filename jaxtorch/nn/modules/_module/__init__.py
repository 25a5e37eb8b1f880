"""What `Module` is made of: registration, hooks, calls, state_dict, conversion, and modules as pytrees."""
