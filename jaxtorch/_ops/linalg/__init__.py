"""`torch.linalg`: products of matrices, factorisations, systems of equations, norms and distances."""
