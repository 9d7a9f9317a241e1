"""The frame of a process: control socket, exit codes, HTTP, service manager."""
