"""The audits of sequence models: the floor that the Kalman filter sets, and how far cells see back."""
