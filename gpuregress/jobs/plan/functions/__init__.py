"""Planning of device functions under test: their calls, the types of their buffers, their twins."""
