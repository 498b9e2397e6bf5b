"""Files that are whole or absent: atomic writes, locks, and disk errors as one line."""

from gpuregress.foundation.storage.atomic_writes import Bytes, atomic, copy_file, write_atomic, write_beside
from gpuregress.foundation.storage.compressed import (
    SUFFIX,
    Frames,
    FrameWriter,
    compress_file,
    is_compressed,
    open_frames,
    text_pieces,
    text_size,
)
from gpuregress.foundation.storage.fsync import sync_all, sync_folder, sync_tree
from gpuregress.foundation.storage.generated_files import is_foreign
from gpuregress.foundation.storage.hard_links import link_file, prune_store
from gpuregress.foundation.storage.locks import lock
from gpuregress.foundation.storage.os_errors import disk_errors, explain, open_file
from gpuregress.foundation.storage.paths import (
    compressed_path,
    dump_name,
    find_dump,
    refuse_links,
    safe_join,
    split_name,
)
from gpuregress.foundation.storage.reading import (
    RunningDigest,
    damaged,
    digest_file,
    digest_text,
    read_bytes,
    read_json,
    read_record,
    seal,
)
from gpuregress.foundation.storage.temporaries import TEMPORARY_PREFIX, remove_tree, scratch, sweep_tree

__all__ = [
    "SUFFIX",
    "TEMPORARY_PREFIX",
    "Bytes",
    "FrameWriter",
    "Frames",
    "RunningDigest",
    "atomic",
    "compress_file",
    "compressed_path",
    "copy_file",
    "damaged",
    "digest_file",
    "digest_text",
    "disk_errors",
    "dump_name",
    "explain",
    "find_dump",
    "is_compressed",
    "is_foreign",
    "link_file",
    "lock",
    "open_file",
    "open_frames",
    "prune_store",
    "read_bytes",
    "read_json",
    "read_record",
    "refuse_links",
    "remove_tree",
    "safe_join",
    "scratch",
    "seal",
    "split_name",
    "sweep_tree",
    "sync_all",
    "sync_folder",
    "sync_tree",
    "text_pieces",
    "text_size",
    "write_atomic",
    "write_beside",
]
