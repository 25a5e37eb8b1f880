"""Said of operations once all are defined: their other names in PyTorch, what is checked first, types of `out=`."""
