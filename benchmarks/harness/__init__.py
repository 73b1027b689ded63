"""How things are measured: contenders in processes of their own, answers compared before anything is timed."""
