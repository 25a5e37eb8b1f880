"""`torch._inductor.config`: a place where programs set switches. None changes anything."""
