from .maze import loop_erased as loop_erased, maze_run as maze_run, stored_path as stored_path
from .sensing import SearchWorld as SearchWorld, search_times as search_times
