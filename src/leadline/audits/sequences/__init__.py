"""The audits of sequence models: the floor that the Kalman filter sets."""
