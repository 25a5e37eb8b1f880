"""Continuous distributions: of single numbers, and Dirichlet's, which Beta's is made of."""
