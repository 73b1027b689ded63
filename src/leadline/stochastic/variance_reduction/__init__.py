"""Control variates, SAG, SAGA and SVRG."""
