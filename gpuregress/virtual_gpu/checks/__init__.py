"""Dynamic checks in IR: what compiled code notes at each access and each wait."""
