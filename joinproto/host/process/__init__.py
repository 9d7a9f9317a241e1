"""What a node's process has around the member: control socket, exit codes, HTTP, notifications."""
