"""What changes between training and use, and the auditor that finds what is wrong with it."""
