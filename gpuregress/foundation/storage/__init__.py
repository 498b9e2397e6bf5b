"""Files that are whole or absent: atomic writes, locks, and disk errors as one line."""

from gpuregress.foundation.storage.atomic_writes import *
from gpuregress.foundation.storage.compressed import *
from gpuregress.foundation.storage.locks import *
from gpuregress.foundation.storage.os_errors import *
from gpuregress.foundation.storage.paths import *
from gpuregress.foundation.storage.reading import *
