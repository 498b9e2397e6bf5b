"""A real GPU through pycuda, which `driver.py` alone imports."""
