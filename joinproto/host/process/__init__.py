"""A node's process around the member: control socket, exit codes, HTTP, notifications."""
