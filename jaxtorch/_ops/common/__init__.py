"""What definitions of every family share: checks of types, derivatives, primitives and ways to compute exactly."""
