"""Set-ups that the chapter networks shares."""
