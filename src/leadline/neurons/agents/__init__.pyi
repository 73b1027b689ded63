from .maze import loop_erased as loop_erased, maze_run as maze_run
from .sensing import SearchWorld as SearchWorld, search_times as search_times
