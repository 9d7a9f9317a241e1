"""The link: compares the steps of the shipped code with the proved relations."""
