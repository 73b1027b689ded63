"""What a user gives, as a study takes it: data of every form, labels, images, sequences, the network's fit and past."""
