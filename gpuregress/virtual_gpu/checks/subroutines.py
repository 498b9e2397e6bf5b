"""Private functions of a module that the dynamic checks call."""

from __future__ import annotations

from llvmlite import ir


def subroutine(
    module: ir.Module, name: str, result: ir.Type, types: tuple[ir.Type, ...], *, may_be_inlined: bool = False
) -> tuple[ir.Function, bool]:
    """A private function of a module.

    Args:
        module: the module.
        name: of the function.
        result: the type of its result.
        types: those of its parameters.
        may_be_inlined: whether LLVM may put its code where it is called.

    Returns:
        it, and whether it has just been declared, so that its code is still to be built.
    """
    declared = module.globals.get(name)
    if declared is not None:
        return declared, False
    function = ir.Function(module, ir.FunctionType(result, types), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    if not may_be_inlined:
        function.attributes.add("noinline")
    return function, True
