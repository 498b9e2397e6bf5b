"""C++ → PTX → cubin, for every device: compiled once, kept on disk by content."""

from gpuregress.toolchain.programs import compile, compiler_version  # noqa: A004 - callers write toolchain.compile

__all__ = ["compile", "compiler_version"]
