"""Plans of jobs, kept between runs."""
