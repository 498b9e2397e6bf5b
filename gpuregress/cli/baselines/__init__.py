"""Commands that change accepted baselines, and that tell their origin."""
