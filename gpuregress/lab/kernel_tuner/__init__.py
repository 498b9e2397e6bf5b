"""Jobs from the arguments of Kernel Tuner's `tune_kernel`; Kernel Tuner itself is not needed."""
