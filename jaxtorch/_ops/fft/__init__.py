"""`torch.fft`: Fourier transforms, also of short pieces of a signal."""
