"""Single launches in a process of their own: a program, arrays and a kernel, without a case."""
