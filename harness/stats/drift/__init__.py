"""Tests of whether a judge still answers as it did, valid however often they are looked at."""
