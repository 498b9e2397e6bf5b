"""Jobs: what their files say, judged and worked out."""
