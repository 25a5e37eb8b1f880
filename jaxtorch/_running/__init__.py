"""How programs are run: `import torch` means jaxtorch, and its modules are found under all names that PyTorch has."""
