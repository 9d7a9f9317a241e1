"""The link: the steps of the shipped code, compared with the proved relations."""
