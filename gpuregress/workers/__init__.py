"""Child processes that run cases: what they are told, what they say, and the watch that ends those which do not."""
