"""`python -m gpuregress`."""

from gpuregress.cli import main

if __name__ == "__main__":
    main(prog_name="gpuregress")
