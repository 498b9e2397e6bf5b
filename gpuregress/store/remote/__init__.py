"""Accepted dumps outside the repository: objects named by digest, in any storage that fsspec knows."""

from gpuregress.store.remote.dumps import described as described
from gpuregress.store.remote.dumps import is_local as is_local
from gpuregress.store.remote.dumps import local as local
from gpuregress.store.remote.dumps import upload_all as upload_all
