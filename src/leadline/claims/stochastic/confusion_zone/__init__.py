"""Zone of confusion."""

MODULES = ("confusion_zone",)
