"""The audit of memory: seven kinds of recurrent cells on digits read pixel by pixel."""
