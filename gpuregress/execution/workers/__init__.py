"""Worker processes that run cases, their messages, and the watchdog that ends those that hang."""
