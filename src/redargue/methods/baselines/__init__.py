"""The methods that redargue's four are compared with."""
