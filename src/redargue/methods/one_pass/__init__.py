"""One pass: all claims of a text in one reading, and a pair of readers for what it does not settle."""

from redargue.methods.one_pass.method import OnePass as OnePass
