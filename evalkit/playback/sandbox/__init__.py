"""A forked worker that the kernel keeps from the outside world: see docs/sandbox.md."""
