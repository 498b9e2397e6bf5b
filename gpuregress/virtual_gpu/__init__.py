"""The virtual GPU: runs PTX on the host's processor."""
