"""Whether a function is a positive definite kernel: spectra, certificates, a hunt for counterexamples."""
