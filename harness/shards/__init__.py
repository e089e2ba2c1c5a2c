"""Validation of more items than fit into memory, from shards that are counted one by one."""
