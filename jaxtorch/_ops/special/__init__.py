"""`torch.special`: error and gamma functions, Bessel functions, orthogonal polynomials."""
