"""Store of the accepted dumps: one folder for each case, changed atomically, verified by digests.

    baselines/reduce/n=1000,tile=128/sum.1.4          a dump
    baselines/reduce/n=1000,tile=128/baseline.yaml    which dumps are accepted, and what made them
    baselines/reduce/n=1000,tile=128/first/sum.1.2    the first one ever accepted, where drift is watched
    baselines/reduce/n=1000,tile=128/sm_80/           the same for one architecture, or for `cpu` or `cuda`: it comes
                                                      before the common one

`baseline.yaml` decides: dumps are copied in first, then it is renamed into place, then what nothing names any more is
removed. A new dump whose name is taken by another content waits under a hidden name until `baseline.yaml` is in place.
So a kill at any moment leaves the old baseline whole, or the new one. Many accepts are put on disk together, all new
files before the first rename. No symbolic link below `baselines` is written through.
"""

from gpuregress.store.baselines.manifest import FILE as FILE
from gpuregress.store.baselines.manifest import VERSION as VERSION
from gpuregress.store.baselines.manifest import Manifest as Manifest
from gpuregress.store.baselines.manifest import ManifestEntry as ManifestEntry
from gpuregress.store.baselines.manifest import made_of as made_of
from gpuregress.store.baselines.manifest import parse as parse
from gpuregress.store.baselines.manifest import render as render
from gpuregress.store.baselines.store import AcceptBatch as AcceptBatch
from gpuregress.store.baselines.store import Acceptor as Acceptor
from gpuregress.store.baselines.store import BaselineStore as BaselineStore
