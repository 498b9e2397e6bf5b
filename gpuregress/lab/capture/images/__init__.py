"""Images that programs carry: fatbins, and the PTX in them."""
