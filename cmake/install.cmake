# Empty until the program exists.
