"""The one loop of optimiser steps: objectives, players, averages, accumulation and recording, scanned over batches."""
