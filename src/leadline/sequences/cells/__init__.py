"""Recurrent cells behind one interface: what comes in, what is kept, what goes out."""
