"""Operations that programs register by a schema and Python functions: behind `torch.library` and `torch.ops`."""
